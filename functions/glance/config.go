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

// Folder of Glance's files in the image, and its Python interpreter.
const (
	data   = "/opt/openstack/etc/glance/"
	python = "/opt/openstack/bin/python"
)

// options returns the options of Glance in addition to the common ones.
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
		// The Gateway strips the path, so that Glance cannot derive the URL from requests.
		c["DEFAULT"]["public_endpoint"] = string(m.spec.Endpoints.Public)
	}
	if v := m.spec.ImageCache; v != nil {
		size := resource.MustParse(string(v.StorageSize))
		c["paste_deploy"]["flavor"] = "keystone+caching"
		c["DEFAULT"]["image_cache_dir"] = cachePath
		c["DEFAULT"]["image_cache_driver"] = "centralized_db"
		// The cache exceeds its maximum until it is pruned.
		c["DEFAULT"]["image_cache_max_size"] = size.Value() / 10 * 8
	}
	if format := m.spec.Import.ConvertTo; format != "" {
		c["image_import_opts"] = oslo.Options{"image_import_plugins": bracketed("image_conversion")}
		c["image_conversion"] = oslo.Options{"output_format": format}
		// qemu-img runs under a Python interpreter that sets limits. Here, the process executable is uWSGI.
		c["wsgi"] = oslo.Options{"python_interpreter": python}
	}
	return c
}

// clonable reports whether Glance shows locations of images to users who can read the image: Nova requests them with the user's token, and
// clones an image in the same Ceph cluster without copying data. Locations in Ceph contain no keys; locations in buckets do.
// https://docs.openstack.org/glance/latest/configuration/glance_api.html#DEFAULT.show_image_direct_url
func (m *model) clonable() bool {
	pool := func(s store) bool { return s.Ceph != nil }
	bucket := func(s store) bool { return s.S3 != nil }
	return slices.ContainsFunc(m.stores, pool) && !slices.ContainsFunc(m.stores, bucket)
}

// bracketed returns a list for an option that requires brackets.
func bracketed(items ...string) string { return "[" + strings.Join(items, ",") + "]" }

// download allows egress to URLs of users' imports. If any host is allowed, private networks are excluded; network policies do not apply to
// a pod's traffic to itself.
// https://docs.openstack.org/glance/latest/admin/interoperable-image-import.html#configuring-the-web-download-method
func (m *model) download(x *service.Extension) {
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
		filter["disallowed_hosts"], flow.Public = bracketed("localhost", "127.0.0.1", "::1", "169.254.169.254"), true
	}
	x.Config.Options["import_filtering_opts"] = filter
	x.Network.Egress = append(x.Network.Egress, flow)
}

// watches returns alerts on volumes that are required to store images.
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
