// Command scaffold writes the first version of an OpenStack service. Placement is the template: its files, and its rows of other files, are
// copied with other names, and their sentences about Placement are replaced with "TODO". The command then lists the files to edit by hand.
//
//	scaffold -port 9001 -type dns [-module designate.wsgi.api:application] [-root .] designate
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

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
	flags.IntVar(&s.port, "port", 0, "port of the API")
	flags.StringVar(&s.serviceType, "type", "", "type in Keystone's catalog")
	flags.StringVar(&s.module, "module", "", "WSGI module of the API (default <service>.wsgi.api:application)")
	root := flags.String("root", ".", "folder of the project")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.name = flags.Arg(0)
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
		fmt.Fprintln(out, "wrote", f.path)
	}
	fmt.Fprintf(out, manual, s.name, s.title())
	return nil
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
		return errors.New("-port: must be between 1 and 65535")
	case !typePattern.MatchString(s.serviceType):
		return fmt.Errorf("-type: must be a service type such as key-manager, not %q", s.serviceType)
	}
	for _, k := range kindregistry.All() {
		if k.Folder == s.name {
			return fmt.Errorf("service: %s is registered already", s.name)
		}
	}
	return nil
}

// manual names the files outside the service's folders. docs/adding-a-service.md has the complete list.
const manual = `
Complete each TODO, in this order:
  hack/registry/services.toml                   versions and modules with options; then make registry SERVICE=%[1]s
  internal/openstack/override/%[1]s.go          owners of options
  images/images.yaml                            the image
  apis/controlplane/v1alpha1/%[1]s.go           the section of the claim, and its field in types.go
  functions/controlplane/services.go            move the line to the place in the order of upgrades
Then complete the files in apis/%[1]s, functions/%[1]s and functions/controlplane/%[1]s, and run:
  make generate
  go test ./functions/%[1]s -update
%[2]s then follows docs/adding-a-service.md.
`
