// Command docs writes the generated parts of the documentation: the reference of every kind, docs/reference/<kind>.md, from the generated
// definitions; a JSON Schema of each claim, for portals and editors, docs/reference/schema/<kind>.json; the resources of each size of a
// control plane, docs/reference/sizes.md; versions of other projects' programs, docs/reference/versions.md; images of each release,
// docs/reference/images.md; workloads, ports, Secrets and connections in and between claims, docs/reference/services.md, ports.md and
// docs/clusters.md, from the composed objects; accounts, docs/reference/accounts.md, from the composed objects and the chart; the access of
// each kind of pod, docs/reference/pod-access.md, and docs/reference/probed-access.md, as probes found it; the picture of a preview,
// docs/images/preview.svg; and the marked blocks of README.md, of the release notes and of docs/graph.md.
//
//	docs [<root>]
//
// The root defaults to the working directory.
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := generate(os.DirFS(root), root); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

// generate writes all pages below a root. Sources is the project, whose files have versions.
func generate(sources fs.FS, root string) error {
	if err := reference(sources, filepath.Join(root, "docs", "reference")); err != nil {
		return err
	}
	if err := claimForms(root); err != nil {
		return err
	}
	for name, page := range map[string]func() ([]byte, error){
		"reference/services.md": services, "reference/ports.md": ports, "reference/images.md": imagesPage, "clusters.md": clusters,
		"reference/pod-access.md": podAccessPage, "reference/probed-access.md": probedAccessPage,
		"reference/versions.md": func() ([]byte, error) { return versionsPage(sources) },
		"reference/accounts.md": func() ([]byte, error) { return accountsPage(sources) },
	} {
		data, err := page()
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", name, err)
		}
		if err := write(filepath.Join(root, "docs", name), data); err != nil {
			return err
		}
	}
	r, err := previewExample()
	if err != nil {
		return err
	}
	if err := picture(r, filepath.Join(root, "docs", "images")); err != nil {
		return err
	}
	return blocks(root, map[string]map[string]func() (string, error){
		notesPage:   {"versions": func() (string, error) { return supportedTable(sources) }},
		"README.md": {"cloud": completeCloud, "versions": func() (string, error) { return supported(sources) }},
		"docs/graph.md": {"graph": func() (string, error) { //nolint:unparam // The type of a block has an error.
			return "```mermaid\n" + graph(r) + "```\n", nil
		}},
	})
}

// picture draws a preview as the output of a terminal.
func picture(r *preview.Result, images string) error {
	var tree bytes.Buffer
	if err := r.Print(&tree, "tree"); err != nil {
		return err
	}
	if err := os.MkdirAll(images, 0o755); err != nil {
		return err
	}
	return write(filepath.Join(images, "preview.svg"), terminal("cobaltcore preview", tree.String()))
}

// blocks replaces the marked blocks of pages below a root: by page, the text of each block.
func blocks(root string, pages map[string]map[string]func() (string, error)) error {
	for name, texts := range pages {
		file := filepath.Join(root, name)
		page, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for block, text := range texts {
			generated, err := text()
			if err != nil {
				return fmt.Errorf("cannot generate %s of %s: %w", block, name, err)
			}
			if page, err = embed(page, block, generated); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		if err := write(file, page); err != nil {
			return err
		}
	}
	return nil
}

// reference writes one page for each kind, and a list of them. A page is named by the kind's folder in apis/, or by the kind
// if a folder has several kinds.
func reference(sources fs.FS, to string) error {
	docs, err := typeComments(sources)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	var index bytes.Buffer
	fmt.Fprintf(&index, "%s\n# Reference\n\nEvery kind, and every field of it.\n\n| Kind | Created by | Description "+
		"|\n|---|---|---|\n", notice)
	for _, folder := range apis.Folders() {
		kinds, err := kindsOf(folder)
		if err != nil {
			return err
		}
		for _, k := range kinds {
			file := strings.ToLower(k.name) + ".md"
			if len(kinds) == 1 {
				file = folder + ".md"
			}
			fmt.Fprintf(&index, "| [%s](%s) | %s | %s. |\n", k.name, file, k.createdBy, firstSentence(k.schema.Description))
			if err := write(filepath.Join(to, file), page(k, docs)); err != nil {
				return err
			}
			if err := writeForm(filepath.Join(to, "schema"), k); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(&index, "\nEach kind that a tenant creates also has a [namespaced form](../how-to/namespaced-resources.md) with the same "+
		"fields.\n\n"+
		"[Resources of each size of a control plane](sizes.md).\n\n"+
		"[Versions of other projects' programs, deployed and tested](versions.md).\n\n"+
		"[Services: processes, connections, Secrets](services.md), [ports](ports.md), [images](images.md), [accounts](accounts.md), "+
		"[access of pods](pod-access.md), [probed access of pods](probed-access.md).\n\n"+
		"[Options of MariaDB and RabbitMQ that a claim can set](server-options.md).\n\n"+
		"[Messages: errors, conditions, events, alerts](messages/README.md).\n\n%s", forms)
	table, err := sizes()
	if err != nil {
		return err
	}
	if err := write(filepath.Join(to, "sizes.md"), table); err != nil {
		return err
	}
	if err := write(filepath.Join(to, "server-options.md"), serverOptions()); err != nil {
		return err
	}
	return write(filepath.Join(to, "README.md"), index.Bytes())
}

// forms describes the use of the schemas.
const forms = `## Forms and editors

A portal shows a form of a claim with react-jsonschema-form: [ControlPlaneCluster](form/controlplanecluster.json),
[HypervisorCluster](form/hypervisorcluster.json), [StorageCluster](form/storagecluster.json),
[OpenStackCluster](form/openstackcluster.json) and [KeystoneService](form/keystoneservice.json).
[Build a portal](../how-to/build-a-portal.md) has the steps.

An editor completes and checks a claim with a JSON Schema of all fields: [ControlPlaneCluster](schema/controlplanecluster.json),
[HypervisorCluster](schema/hypervisorcluster.json), [StorageCluster](schema/storagecluster.json),
[OpenStackCluster](schema/openstackcluster.json) and [KeystoneService](schema/keystoneservice.json). The first line of the claim is ` +
	"`# yaml-language-server: $schema=<address of the file>`" + `.

Forms and schemas have the fields in the order of the types, also in ` +
	"`ui:order`" + `: the API server sorts the fields of a definition. Most
rules for several fields are only in the definition. The API server and ` + "`cobaltcore validate`" + ` check them.
`

// writeForm writes the JSON Schema of a kind that is claimed.
func writeForm(to string, k kind) error {
	spec, ok := claimTypes[k.name]
	if !ok {
		return nil
	}
	data, err := form(k, spec)
	if err != nil {
		return fmt.Errorf("cannot write the schema of %s: %w", k.name, err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	return write(filepath.Join(to, strings.ToLower(k.name)+".json"), data)
}

func write(file string, data []byte) error {
	return os.WriteFile(file, data, 0o644)
}
