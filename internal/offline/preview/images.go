package preview

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// Image is a container image and the objects that name it.
type Image struct {
	// Name is the reference of the image, as composed.
	Name string
	// Users are the objects, as "<kind> <namespace>/<name>", in the order of their names.
	Users []string
}

// operatorImage is an image that an operator runs by default, if its object names none.
type operatorImage struct {
	kind string
	// field of the image, below condition: an object without the field condition does not run the image.
	condition, field []string
	image            string
}

// operatorImages are the images of operators' objects that claims compose without an image (internal/openstack/release).
var operatorImages = []operatorImage{
	{"MariaDB", []string{"spec"}, []string{"image"}, release.MariaDB},
	{"MariaDB", []string{"spec", "metrics"}, []string{"exporter", "image"}, release.MariaDBExporter},
	{"MaxScale", []string{"spec"}, []string{"image"}, release.MaxScale},
	{"MaxScale", []string{"spec", "metrics"}, []string{"exporter", "image"}, release.MaxScaleExporter},
	{"RabbitmqCluster", []string{"spec"}, []string{"image"}, release.RabbitMQ},
}

// Images returns the images of the pods of claims, in the order of their names: images in composed objects, and defaults of their
// operators. It omits the images of the operators and of Valkey, whose operator has no field for images.
func Images(results []*Result) ([]Image, error) {
	users := map[string]map[string]bool{}
	for _, r := range results {
		for _, o := range r.Objects {
			images, err := o.images()
			if err != nil {
				return nil, err
			}
			for _, image := range images {
				if users[image] == nil {
					users[image] = map[string]bool{}
				}
				users[image][o.Kind+" "+strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")] = true
			}
		}
	}
	var out []Image
	for _, image := range slices.Sorted(maps.Keys(users)) {
		out = append(out, Image{image, slices.Sorted(maps.Keys(users[image]))})
	}
	return out, nil
}

// images returns the images of an object.
func (o Object) images() ([]string, error) {
	tree := o.Tree()
	var out []string
	walkText("", tree, func(at, text string) {
		if namesImage(at, text) {
			out = append(out, text)
		}
	})
	for _, i := range operatorImages {
		parent := child(tree, i.condition...)
		last := len(i.field) - 1
		if o.Kind != i.kind || parent == nil || child(parent, i.field[:last]...)[i.field[last]] != nil {
			continue
		}
		image, err := release.ImageFor(i.image, "", release.Override{})
		if err != nil {
			return nil, err
		}
		out = append(out, image)
	}
	return out, nil
}

// namesImage reports whether a field contains a container image: its name ends with "image", and the text has a tag or a digest.
func namesImage(field, text string) bool {
	last := strings.ToLower(field[strings.LastIndex(field, ".")+1:])
	if !strings.HasSuffix(last, "image") || !strings.ContainsAny(text, ":@") {
		return false
	}
	_, err := name.ParseReference(text)
	return err == nil
}
