package glance

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/image"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Where the image has the files that come with Glance, and its Python.
const (
	data   = "/opt/openstack/etc/glance/"
	python = "/opt/openstack/bin/python"
)

// options are those of Glance besides those that every service has.
// https://docs.openstack.org/glance/latest/configuration/glance_api.html
func (m *model) options() oslo.Config {
	c := oslo.Config{
		"DEFAULT": {
			"enabled_import_methods": bracketed(service.Strings(m.spec.Import.Methods)...),
			"metadata_source_path":   data + "metadefs",
		},
		"glance_store":            {"default_backend": string(m.spec.DefaultStore)},
		"os_glance_staging_store": {"filesystem_store_datadir": stagingPath + "/images"},
		"os_glance_tasks_store":   {"filesystem_store_datadir": stagingPath + "/tasks"},
		"paste_deploy":            {"config_file": data + "glance-api-paste.ini", "flavor": "keystone"},
	}
	var backends []string
	for _, s := range m.stores {
		backends = append(backends, string(s.Name)+":"+image.Driver(s.Store))
		c[string(s.Name)] = s.options
	}
	c["DEFAULT"]["enabled_backends"] = backends
	if m.clonable() {
		c["DEFAULT"]["show_image_direct_url"] = true
	}
	if e := m.spec.Exposure; e != nil && e.Path != "" {
		// The Gateway takes the path away, so that Glance cannot see it in requests.
		c["DEFAULT"]["public_endpoint"] = string(m.spec.Endpoints.Public)
	}
	if v := m.spec.ImageCache; v != nil {
		size := resource.MustParse(string(v.StorageSize))
		c["paste_deploy"]["flavor"] = "keystone+caching"
		c["DEFAULT"]["image_cache_dir"] = cachePath
		c["DEFAULT"]["image_cache_driver"] = "centralized_db"
		// Until it is made smaller again, the cache needs more.
		c["DEFAULT"]["image_cache_max_size"] = size.Value() / 10 * 8
	}
	if format := m.spec.Import.ConvertTo; format != "" {
		c["image_import_opts"] = oslo.Options{"image_import_plugins": bracketed("image_conversion")}
		c["image_conversion"] = oslo.Options{"output_format": format}
		// qemu-img runs with limits that a Python sets. The program that runs here is uWSGI.
		c["wsgi"] = oslo.Options{"python_interpreter": python}
	}
	return c
}

// clonable reports whether everybody who sees an image is told where it is: Nova asks as whoever starts a virtual machine, and makes its
// disk a copy of an image in the same Ceph without moving data. Addresses there have no key in them, as those of buckets have.
// https://docs.openstack.org/glance/latest/configuration/glance_api.html#DEFAULT.show_image_direct_url
func (m *model) clonable() bool {
	pool := func(s store) bool { return s.Ceph != nil }
	bucket := func(s store) bool { return s.S3 != nil }
	return slices.ContainsFunc(m.stores, pool) && !slices.ContainsFunc(m.stores, bucket)
}

// bracketed is a list of an option that wants brackets around it.
func bracketed(items ...string) string { return "[" + strings.Join(items, ",") + "]" }

// download lets pods fetch what users name. Where that may be any host, pods reach none of private networks; what a pod says to itself, no
// network policy sees. https://docs.openstack.org/glance/latest/admin/interoperable-image-import.html#configuring-the-web-download-method
func (m *model) download() {
	w := m.spec.Import.WebDownload
	if w == nil {
		return
	}
	filter := oslo.Options{
		"allowed_ports":   strings.ReplaceAll(fmt.Sprint(w.AllowedPorts), " ", ","),
		"allowed_schemes": bracketed(w.AllowedSchemes...),
	}
	flow := workload.Flow{Ports: w.AllowedPorts}
	if len(w.AllowedHosts) > 0 {
		filter["allowed_hosts"], flow.Anywhere = bracketed(service.Strings(w.AllowedHosts)...), true
	} else {
		filter["disallowed_hosts"], flow.Public = bracketed("localhost", "127.0.0.1", "169.254.169.254"), true
	}
	m.Options["import_filtering_opts"] = filter
	m.Egress = append(m.Egress, flow)
}

// watches are alerts on volumes without which no image is taken.
func (m *model) watches() []monitoring.Alert {
	var volumes []string
	for _, s := range m.stores {
		if s.File != nil {
			volumes = append(volumes, m.Sub(s.name))
		}
	}
	if m.spec.Import.Staging != nil {
		volumes = append(volumes, fmt.Sprintf("%s-%s-[0-9]+", staging, m.Name))
	}
	if len(volumes) == 0 {
		return nil
	}
	return monitoring.VolumesFilling(m.Title, m.Namespace, strings.Join(volumes, "|"), "no image can be added",
		"Delete images, or raise storageSize of the store in the claim, where its storage class lets volumes grow.")
}
