// Command scaffold writes the first version of an OpenStack service. Placement is the template: its files, and its rows of other files, are
// copied with other names, and their sentences about Placement are replaced with "TODO". The command then lists the files to edit by hand.
//
//	scaffold [-port 9001] [-type dns] [-module designate.wsgi.api:application] [-root .] designate
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scaffold:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	var s service
	flags := flag.NewFlagSet("scaffold", flag.ContinueOnError)
	flags.IntVar(&s.port, "port", 0, "port of the API (default of a known service)")
	flags.StringVar(&s.serviceType, "type", "", "type in Keystone's catalog (default of a known service)")
	flags.StringVar(&s.module, "module", "", "WSGI module of the API (default <service>.wsgi.api:application)")
	root := flags.String("root", ".", "folder of the project")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.name = flags.Arg(0)
	known := knownServices[s.name]
	s.port, s.serviceType = cmp.Or(s.port, known.port), cmp.Or(s.serviceType, known.serviceType)
	if s.module == "" {
		s.module = s.name + ".wsgi.api:application"
	}
	if err := s.check(); err != nil {
		return err
	}
	files, err := render(os.DirFS(*root), s)
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := os.Stat(filepath.Join(*root, f.path)); !f.existing && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot write %s: it exists", f.path)
		}
	}
	for _, f := range files {
		path := filepath.Join(*root, f.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return err
		}
		verb := "wrote"
		if f.existing {
			verb = "changed"
		}
		fmt.Fprintln(out, verb, f.path)
	}
	return s.printManual(out)
}

// printManual prints the files to edit, and the commands to run.
func (s service) printManual(out io.Writer) error {
	fmt.Fprintln(out, "\nComplete each TODO, in this order. Values without TODO are Placement's, with another name: check them, too.")
	if err := s.printTable(out, manual); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nEdit these files if the service has the feature:")
	if err := s.printTable(out, conditional); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, commands, s.name)
	return err
}

// printTable prints files with the names of the service.
func (s service) printTable(out io.Writer, rows [][2]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintf(w, "  %s\t%s\n", strings.ReplaceAll(row[0], placement.name, s.name), strings.ReplaceAll(row[1], placement.name, s.name))
	}
	return w.Flush()
}

// service describes the new service.
type service struct {
	name, serviceType, module string
	port                      int
}

var (
	namePattern = regexp.MustCompile(`^[a-z]+$`)
	typePattern = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
)

// check returns an error for a service that cannot be added.
func (s service) check() error {
	switch {
	case !namePattern.MatchString(s.name):
		return fmt.Errorf("service: must be one word in lower case, not %q", s.name)
	case s.port < 1 || s.port > 65535:
		return errors.New("-port: must be between 1 and 65535; set PORT=")
	case !typePattern.MatchString(s.serviceType):
		return fmt.Errorf("-type: must be a service type such as key-manager, not %q; set TYPE=", s.serviceType)
	}
	for _, k := range kindregistry.All() {
		if k.Folder == s.name {
			return fmt.Errorf("service: %s is registered already", s.name)
		}
	}
	return nil
}

// manual lists the files to complete, with Placement's paths. docs/adding-a-service.md has the complete list.
var manual = [][2]string{
	{"hack/registry/services.toml", "versions and modules with options; then run make registry SERVICE=placement"},
	{"functions/placement/expected.yaml", "the numbers of the registry, revisions and reserved options"},
	{"internal/openstack/override/placement.go", "owners of options"},
	{"images/images.yaml", "the image"},
	{"apis/placement", "the complete spec of the service"},
	{"apis/controlplane/v1alpha1/placement.go", "the section of the claim, and its field in types.go"},
	{"functions/placement", "the definition: database group, schema commands, health check; the components, and fields.txt"},
	{"functions/controlplane/placement", "the derivation from the claim"},
	{"functions/controlplane/table.go", "move the line to the place in the order of upgrades"},
}

// conditional lists the files to edit only for a service with the feature. docs/adding-a-service.md has the complete list.
var conditional = [][2]string{
	{"examples/controlplane/services.yaml", "an example with all services; the accounts that it adds have purposes in hack/docs/purposes.go"},
	{"internal/openstack/capacity/capacity.go", "a queue, a second process with a port, large bodies or streams: limits of requests"},
	{"internal/openstack/override/values.go", "values of options with which the service does not start"},
	{"internal/offline/plan/verdict.go", "another place in a plan than behind all services, or a kind that is a part of the service"},
}

// commands are the commands to run after the files are complete.
const commands = `
Then run:
  make generate
  go test ./functions/%[1]s -update
docs/adding-a-service.md explains each step.
`
