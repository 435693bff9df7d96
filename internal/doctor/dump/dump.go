// Package dump stores the objects that a diagnosis has read in an archive without secrets, and reads them from an archive, from files and
// from folders in place of a cluster.
package dump

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/doctor"
	"github.com/c5c3/crossplane-cobaltcore/internal/doctor/redact"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/input"
)

// manifestFile is the file of an archive with its Manifest.
const manifestFile = "manifest.json"

// maxFile is the maximum size of a file in an archive: an API server stores objects of up to 1.5 MiB.
const maxFile = 8 << 20

// Manifest describes an archive.
type Manifest struct {
	// Version is the program that wrote the archive, CapturedAt the time.
	Version    string    `json:"version"`
	CapturedAt time.Time `json:"capturedAt"`
	// Claim is the diagnosed object.
	Claim doctor.Ref `json:"claim"`
	// Packages contains the image of each function, provider and configuration.
	Packages map[string]string `json:"packages,omitempty"`
	// Forbidden contains kinds that could not be read.
	Forbidden []doctor.Place `json:"forbidden,omitempty"`
}

// Write writes an archive with everything that a diagnosis has read, without secrets. It returns the names of the files.
func Write(w io.Writer, version string, at time.Time, report *doctor.Report, recorded doctor.Recorded) ([]string, error) {
	manifest := Manifest{
		Version: version, CapturedAt: at.UTC().Truncate(time.Second), Claim: report.Claim, Packages: map[string]string{},
		Forbidden: recorded.Forbidden,
	}
	files := map[string][]byte{}
	for _, o := range recorded.Objects {
		group := cmp.Or(o.GroupVersionKind().Group, "core")
		if image, _, _ := unstructured.NestedString(o.Object, "spec", "package"); image != "" && group == "pkg.crossplane.io" {
			manifest.Packages[o.GetKind()+"/"+o.GetName()] = redact.Text(image)
		}
		data, err := yaml.Marshal(redact.Object(o.Object))
		if err != nil {
			return nil, fmt.Errorf("cannot write %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		folder := fmt.Sprintf("objects/%s/%s.%s/", cmp.Or(o.GetNamespace(), "_cluster"), strings.ToLower(o.GetKind()), group)
		files[folder+o.GetName()+".yaml"] = data
	}
	var text bytes.Buffer
	if err := report.Print(&text, "text"); err != nil {
		return nil, err
	}
	files["report.txt"] = text.Bytes()
	data, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return nil, err
	}
	files[manifestFile] = append(data, '\n')
	return write(w, manifest.CapturedAt, files)
}

// write writes files into an archive, sorted by name.
func write(w io.Writer, at time.Time, files map[string][]byte) ([]string, error) {
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), ModTime: at, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(files[name]); err != nil {
			return nil, err
		}
	}
	return names, errors.Join(archive.Close(), zip.Close())
}

// Reader reads the objects of a dump.
type Reader struct {
	manifest Manifest
	objects  []unstructured.Unstructured
}

// Open reads an archive, or files and folders with manifests, such as the output of kubectl get -o yaml. Secrets are ignored.
func Open(path string, standard io.Reader) (*Reader, error) {
	archive, err := readArchive(path)
	if err != nil || archive != nil {
		return archive, err
	}
	docs, err := input.Read([]string{path}, standard)
	if err != nil {
		return nil, err
	}
	r := &Reader{}
	for _, d := range docs {
		if err := r.add(d.Data); err != nil {
			return nil, fmt.Errorf("%s: %w", cmp.Or(d.File, "standard input"), err)
		}
	}
	if len(r.objects) == 0 {
		return nil, fmt.Errorf("%s contains no object of Kubernetes", path)
	}
	return r, nil
}

// readArchive reads a file, or returns nil if it is not an archive.
func readArchive(path string) (*Reader, error) {
	if path == input.Standard {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return nil, err
	}
	data, err := os.ReadFile(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return nil, nil
	}
	return unpack(path, data)
}

// unpack reads an archive.
func unpack(path string, data []byte) (*Reader, error) {
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := &Reader{}
	archive := tar.NewReader(zip)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		content, err := io.ReadAll(io.LimitReader(archive, maxFile))
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, header.Name, err)
		}
		switch {
		case header.Name == manifestFile:
			err = json.Unmarshal(content, &r.manifest)
		case strings.HasPrefix(header.Name, "objects/"):
			err = r.add(content)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, header.Name, err)
		}
	}
	if r.manifest.Claim.Name == "" {
		return nil, fmt.Errorf("%s: the archive has no %s: it was not written by cobaltcore doctor --capture", path, manifestFile)
	}
	return r, nil
}

// add adds the object of a document. Documents without a kind are ignored.
func (r *Reader) add(doc []byte) error {
	data, err := yaml.YAMLToJSON(doc)
	if err != nil {
		return err
	}
	u := unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		return nil //nolint:nilerr // It is not an object of Kubernetes.
	}
	if u.GetKind() != "Secret" {
		r.objects = append(r.objects, u)
	}
	return nil
}

// New returns a reader of objects at a time.
func New(at time.Time, objects ...unstructured.Unstructured) *Reader {
	return &Reader{manifest: Manifest{CapturedAt: at}, objects: objects}
}

// Now returns the time at which the objects were read; zero if it is unknown.
func (r *Reader) Now() time.Time { return r.manifest.CapturedAt }

// Claim returns the diagnosed object of an archive, or the only claim of the objects. It returns false unless exactly one exists.
func (r *Reader) Claim() (doctor.Ref, bool) {
	if r.manifest.Claim.Name != "" {
		return r.manifest.Claim, true
	}
	var out doctor.Ref
	count := 0
	for _, o := range r.objects {
		kind, ok := doctor.KindOf(o.GetKind() + "." + o.GroupVersionKind().Group)
		if ok && doctor.IsClaim(kind) {
			out = doctor.Ref{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
			count++
		}
	}
	return out, count == 1
}

// Get returns an object.
func (r *Reader) Get(_ context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	for _, o := range r.objects {
		if o.GroupVersionKind().GroupKind() == kind.GroupKind() && o.GetNamespace() == namespace && o.GetName() == name {
			return o.DeepCopy(), nil
		}
	}
	resource := schema.GroupResource{Group: kind.Group, Resource: strings.ToLower(kind.Kind)}
	if r.isForbidden(kind, namespace) {
		return nil, apierrors.NewForbidden(resource, name, errors.New("it could not be read for the dump"))
	}
	return nil, apierrors.NewNotFound(resource, name)
}

// List returns the objects of a kind. Of Events, it returns warnings.
func (r *Reader) List(_ context.Context, kind schema.GroupVersionKind, namespace string) ([]unstructured.Unstructured, error) {
	if r.isForbidden(kind, namespace) {
		return nil, apierrors.NewForbidden(schema.GroupResource{Group: kind.Group, Resource: strings.ToLower(kind.Kind)}, "",
			errors.New("they could not be read for the dump"))
	}
	var out []unstructured.Unstructured
	for _, o := range r.objects {
		if o.GroupVersionKind().GroupKind() != kind.GroupKind() || namespace != "" && o.GetNamespace() != namespace {
			continue
		}
		if typ, ok := o.Object["type"]; kind.Kind == "Event" && ok && typ != "Warning" {
			continue
		}
		out = append(out, *o.DeepCopy())
	}
	return out, nil
}

func (r *Reader) isForbidden(kind schema.GroupVersionKind, namespace string) bool {
	return slices.Contains(r.manifest.Forbidden, doctor.Place{Group: kind.Group, Kind: kind.Kind, Namespace: namespace})
}
