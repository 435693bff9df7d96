package cellmapping

import (
	"errors"
	"strconv"
	"strings"
)

// python is the interpreter of the image's virtual environment (images/Containerfile): the other interpreter of the image has
// no Nova.
const python = "/opt/openstack/bin/python"

// listHosts runs nova-manage and then prints the version of the oldest nova-compute of the cell, as recorded in the cell's
// database. Nova's API does not return it, and nova-manage reports only whether an upgrade may start.
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

// oldestVersionPrefix is the prefix of the line with the version.
const oldestVersionPrefix = "oldest nova-compute:"

// parseOldestVersion returns the version in the output of listHosts; 0 if there is no nova-compute.
func parseOldestVersion(output string) (int32, error) {
	var found []string
	for line := range strings.Lines(output) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), oldestVersionPrefix); ok {
			found = append(found, strings.TrimSpace(text))
		}
	}
	const base, bits = 10, 32
	if len(found) != 1 {
		return 0, errors.New("the output must contain the oldest nova-compute version exactly once")
	}
	version, err := strconv.ParseInt(found[0], base, bits)
	if err != nil || version < 0 {
		return 0, errors.New("the version of the oldest nova-compute in the output is not valid")
	}
	return int32(version), nil
}
