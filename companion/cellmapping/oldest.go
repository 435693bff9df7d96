package cellmapping

import (
	"errors"
	"strconv"
	"strings"
)

// python is the interpreter of an image's programs (images/Containerfile): another one, of the same image, knows nothing of Nova.
const python = "/opt/openstack/bin/python"

// listHosts is nova-manage, which then says how old the oldest nova-compute of the cell is, by the version that each has recorded in the
// cell's database. Nova's API does not tell, and its tool only by whether an upgrade may begin.
const listHosts = `import sys
from nova.cmd import manage
from nova import context, objects
sys.argv[0] = "nova-manage"
code = manage.main()
if not code:
    oldest = objects.Service.get_minimum_version(context.get_admin_context(), "nova-compute")
    print("` + oldestVersionPrefix + `", oldest)
sys.exit(code)
`

// oldestVersionPrefix begins the line that says it.
const oldestVersionPrefix = "oldest nova-compute:"

// parseOldestVersion is the version in the output of listHosts: 0 if there is no nova-compute.
func parseOldestVersion(output string) (int32, error) {
	var found []string
	for line := range strings.Lines(output) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), oldestVersionPrefix); ok {
			found = append(found, strings.TrimSpace(text))
		}
	}
	const base, bits = 10, 32
	if len(found) != 1 {
		return 0, errors.New("its output does not say once how old the oldest nova-compute is")
	}
	version, err := strconv.ParseInt(found[0], base, bits)
	if err != nil || version < 0 {
		return 0, errors.New("its output says that the oldest nova-compute is of no version")
	}
	return int32(version), nil
}
