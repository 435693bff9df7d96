package glance

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/ceph"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/image"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// publicCAs is the image's bundle of public CAs. Stores without their own CA set it explicitly, because the pods' default is the internal
// CA.
const publicCAs = "/etc/ssl/certs/ca-certificates.crt"

// A store stores images; options is its section of glance-api.conf.
type store struct {
	glancev1.Store
	// name is the name prefix of its objects. It does not end with a hyphen, which the store's name may.
	name    string
	options oslo.Options
	// folder is the folder of its volume, or of the files of its Secret, which also has keys for environment variables.
	folder string
	files  []string
	secret c5c3v1.SecretAggregateSpec
	// volumes, env and flow are the pods' files, variables and egress for it.
	volumes []service.Volume
	env     []corev1.EnvVar
	flow    workload.Flow
}

// findStores derives the stores.
func (m *model) findStores() error {
	for _, spec := range m.spec.Stores {
		s := store{Store: spec, name: strings.ReplaceAll(string(spec.Name), "_", "-") + "-store", options: oslo.Options{}}
		if s.Description != "" {
			s.options["store_description"] = s.Description
		}
		s.folder = m.Path(storesComponent, string(s.Name))
		s.secret.TargetSecretName = common.ObjectName(m.Sub(s.name))
		s.secret.Template = map[string]c5c3v1.SecretTemplate{}
		var err error
		if s.flow, err = drivers[image.Driver(spec)](m, &s); err != nil {
			return err
		}
		if len(s.files) > 0 {
			secret := workload.SecretVolume(s.name, m.Sub(s.name), s.files...)
			s.volumes = append(s.volumes, service.Volume{Volume: secret, Folder: s.folder})
		}
		m.stores = append(m.stores, s)
	}
	return nil
}

// addStores adds the pods' files, variables and egress for the stores. Pods read Secrets at startup.
func (m *model) addStores(x *service.Extension, observed observe.State) {
	for _, s := range m.stores {
		x.API.Volumes, x.API.Env = append(x.API.Volumes, s.volumes...), append(x.API.Env, s.env...)
		if s.File != nil {
			continue
		}
		x.Network.Egress = append(x.Network.Egress, s.flow)
		x.Pods.Annotate(m.StartupAnnotations(observed, service.StartupInput{
			Resource: s.name, Path: []string{"status", "contentHash"}, Annotation: glancev1.Group + "/" + s.name,
		}))
	}
}

// drivers add a store's section and the pods' files, and return the egress to its server.
var drivers = map[string]func(*model, *store) (workload.Flow, error){"file": file, "s3": s3, "rbd": rbd, "swift": swift}

func file(m *model, s *store) (workload.Flow, error) { //nolint:unparam // Same signature as the other drivers.
	s.folder = "/var/lib/glance/stores/" + string(s.Name)
	s.options["filesystem_store_datadir"] = s.folder + "/images" // The volume's root has folders of the file system.
	s.volumes = append(s.volumes, service.Volume{Folder: s.folder, Writable: true, Volume: corev1.Volume{
		Name: s.name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: m.Sub(s.name)},
		},
	}})
	return workload.Flow{}, nil
}

func s3(m *model, s *store) (workload.Flow, error) {
	b := s.S3
	s.set("s3_store_host", b.Endpoint)
	s.set("s3_store_bucket", b.Bucket)
	s.set("s3_store_region_name", b.Region)
	s.set("s3_store_bucket_url_format", b.URLFormat)
	s.set("s3_store_cacert", s.authority(b.CASecretRef))
	for _, k := range [][3]string{
		{"accessKeyID", glancev1.S3AccessKeyIDKey, "s3_store_access_key"},
		{"secretAccessKey", glancev1.S3SecretAccessKeyKey, "s3_store_secret_key"},
	} {
		s.read(k[0], b.CredentialsSecretRef, k[1], "OsloConfig")
		s.secret.Template[k[1]] = c5c3v1.SecretTemplate("{{ ." + k[0] + " }}")
		s.env = append(s.env, workload.SecretEnv(oslo.MustEnvName(string(s.Name), k[2]), m.Sub(s.name), k[1]))
	}
	return workload.ExternalEgress(b.Endpoint)
}

func rbd(m *model, s *store) (workload.Flow, error) {
	s.set("rbd_store_ceph_conf", s.folder+"/"+glancev1.RBDConfigKey)
	// Otherwise a pod would wait for its monitors forever, and not start. The other stores work without this one.
	s.options["rados_connect_timeout"] = 5
	s.files = []string{glancev1.RBDConfigKey, glancev1.RBDKeyringKey}
	if s.Ceph != nil {
		c, err := service.StorageClient(m.spec.StorageClients, glancev1.PlaceOf(s.Name))
		if err != nil {
			return workload.Flow{}, err
		}
		s.set("rbd_store_pool", c.Pool)
		s.set("rbd_store_user", c.User)
		s.read(ceph.KeySource, common.SecretReference{Name: common.ObjectName(c.SecretName)}, rook.UserKey, "")
		s.secret.Template = ceph.FilesOf(c, s.folder, glancev1.RBDConfigKey, glancev1.RBDKeyringKey)
		return ceph.TrafficOf(c), nil
	}
	r := s.RBD
	s.set("rbd_store_pool", r.Pool)
	s.set("rbd_store_user", r.User)
	s.read(ceph.ConfigSource, r.SecretRef, glancev1.RBDConfigKey, "")
	s.read(ceph.KeyringSource, r.SecretRef, glancev1.RBDKeyringKey, "")
	s.secret.Template = ceph.Files(r.User, s.folder, glancev1.RBDConfigKey, glancev1.RBDKeyringKey)
	return ceph.Traffic(r.Networks), nil
}

// swift writes the account into a file, in a section named after the store: Glance reads all sections into one table.
// https://docs.openstack.org/glance/latest/configuration/configuring.html#configuring-multiple-swift-accounts-stores
func swift(_ *model, s *store) (workload.Flow, error) {
	const file = "swift.conf"
	w := s.Swift
	s.set("swift_store_config_file", s.folder+"/"+file)
	s.set("default_swift_reference", string(s.Name))
	s.set("swift_store_container", w.Container)
	s.set("swift_store_region", w.Region)
	s.options["swift_store_create_container_on_put"] = true
	s.set("swift_store_cacert", s.authority(w.CASecretRef))
	for _, k := range [][2]string{
		{"username", glancev1.SwiftUsernameKey}, {"password", glancev1.SwiftPasswordKey}, {"project", glancev1.SwiftProjectKey},
		{"userDomain", glancev1.SwiftUserDomainKey}, {"projectDomain", glancev1.SwiftProjectDomainKey},
	} {
		s.read(k[0], w.CredentialsSecretRef, k[1], "ConfigParser")
	}
	s.secret.Template[file] = c5c3v1.SecretTemplate(fmt.Sprintf(`[%s]
auth_address = "%s"
user = "{{ .project }}:{{ .username }}"
key = "{{ .password }}"
user_domain_name = "{{ .userDomain }}"
project_domain_name = "{{ .projectDomain }}"
`, s.Name, strings.ReplaceAll(string(w.AuthURL), "%", "%%")))
	s.files = append(s.files, file)
	// The catalog contains the address of the object store.
	return workload.ExternalEgress(string(w.AuthURL), "https://objects", "https://objects:8080")
}

// set sets an option, if the spec has a value.
func (s *store) set(option, value string) {
	if value != "" {
		s.options[option] = value
	}
}

// read adds a key of a Secret to the store's own Secret.
func (s *store) read(source string, ref common.SecretReference, key, escape string) {
	from := service.Source(source, string(ref.Name), key)
	from.Escape = escape
	s.secret.Sources = append(s.secret.Sources, from)
}

// authority returns the file that verifies a server's certificate.
func (s *store) authority(ref *common.SecretKeyReference) string {
	const file = "ca.crt"
	if ref == nil {
		return publicCAs
	}
	s.secret.Sources = append(s.secret.Sources, service.Source("ca", string(ref.Name), string(ref.Key)))
	s.secret.Template[file] = "{{ .ca }}"
	s.files = append(s.files, file)
	return s.folder + "/" + file
}

// storage builds the volumes and Secrets of stores. Volumes outlive the Glance.
func storage(m *model) ([]compose.Stage, error) {
	var stage compose.Stage
	for _, s := range m.stores {
		meta := m.Meta(m.Sub(s.name))
		var o runtime.Object = c5c3.SecretAggregate(meta, s.secret)
		if f := s.File; f != nil {
			o = workload.SharedVolume(meta, string(f.StorageClass), string(f.StorageSize), f.AccessMode)
		}
		stage = append(stage, compose.Resource{Name: s.name, Object: o, Retain: s.File != nil})
	}
	return []compose.Stage{stage}, nil
}
