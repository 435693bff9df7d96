package composed

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// option returns the value of an option in a file of a ConfigMap.
func option(t *testing.T, o object, file, group, name string) string {
	t.Helper()
	parsed, err := oslo.Parse(o.text("data", file))
	if err != nil {
		t.Fatalf("%s: %v", o, err)
	}
	return strings.Join(parsed[group][name], ",")
}

// values lists the options that a control plane must have. The rows record reviewed output, not upstream documentation. An empty value means that the
// option must not be set.
var values = []struct{ reason, config, file, group, option, want string }{
	{"Seconds; the default of every claim is one hour.", "keystone", "keystone.conf", "token", "expiration", "3600"},
	{"Seconds; long requests end within two days.", "keystone", "keystone.conf", "token", "allow_expired_window", "172800"},
	{"Keystone retries for ever while the database fails over.", "keystone", "keystone.conf", "database", "max_retries", "-1"},
	{"Seconds; below the wait_timeout of the server and of proxies.", "keystone", "keystone.conf", "database", "connection_recycle_time", "600"},
	{"Addresses behind the proxy are those of X-Forwarded headers.", "keystone", "keystone.conf", "oslo_middleware", "enable_proxy_headers_parsing", "true"},
	{"Only users with the role service may pass expired tokens.", "nova", "nova.conf", "keystone_authtoken", "service_token_roles_required", "true"},
	{"The role that the user of each service has.", "nova", "nova.conf", "keystone_authtoken", "service_token_roles", "service"},
	{"The companion discovers hosts; schedulers must not.", "nova", "nova.conf", "scheduler", "discover_hosts_in_cells_interval", "-1"},
	{"Processes are counted by pods.", "nova", "nova.conf", "scheduler", "workers", "1"},
	{"Processes are counted by pods.", "nova", "nova.conf", "conductor", "workers", "1"},
	{"Conductors talk to the oldest hypervisor.", "nova", "nova.conf", "upgrade_levels", "compute", "auto"},
	{"Messages survive a broker.", "nova", "nova.conf", "oslo_messaging_rabbit", "rabbit_quorum_queue", "true"},
	{"Long requests go on with the token of the service.", "nova", "nova.conf", "service_user", "send_service_user_token", "true"},
	{"Nova signs requests of Neutron's metadata agents.", "nova", "nova.conf", "neutron", "service_metadata_proxy", "true"},
	{"Catalog entry of internal addresses.", "nova", "nova.conf", "cinder", "catalog_info", "block-storage:cinder:internalURL"},
	{"Only nova-compute reads it.", "nova-cell1", "nova.conf", "workarounds", "disable_group_policy_check_upcall", ""},
	{"Consoles are served by TLS only.", "nova-cell1", "nova.conf", "DEFAULT", "ssl_only", "true"},
	{"The port of the Service.", "nova-cell1", "nova.conf", "vnc", "novncproxy_port", "6080"},
	{"The cell has no such proxy.", "nova-cell1", "nova.conf", "spice", "html5proxy_port", ""},
	{"The cell has no such proxy.", "nova-cell1", "nova.conf", "serial_console", "serialproxy_port", ""},
	{"Bytes of Geneve options that OVN adds.", "neutron", "neutron.conf", "ml2_type_geneve", "max_header_size", "38"},
	{"All networks that Geneve can number but 0.", "neutron", "neutron.conf", "ml2_type_geneve", "vni_ranges", "1:65536"},
	{"The claim orders one flat network.", "neutron", "neutron.conf", "ml2_type_flat", "flat_networks", "external"},
	{"Networks of tenants are made by OVN.", "neutron", "neutron.conf", "ml2", "mechanism_drivers", "ovn"},
	{"OVN's metadata agents run on hypervisors.", "neutron", "neutron.conf", "ovn", "ovn_metadata_enabled", "true"},
	{"Nova waits for ports to be plugged.", "neutron", "neutron.conf", "DEFAULT", "notify_nova_on_port_status_changes", "true"},
	{"The first type of the claim.", "cinder", "cinder.conf", "DEFAULT", "default_volume_type", "ceph-rbd"},
	{"The pool of the claim.", "cinder", "cinder.conf", "ceph-rbd", "rbd_pool", "volumes"},
	{"The user of Ceph that may write the pool.", "cinder", "cinder.conf", "ceph-rbd", "rbd_user", "cinder"},
	{"Seconds; a lost Ceph fails a request instead of a worker.", "cinder", "cinder.conf", "ceph-rbd", "rados_connect_timeout", "5"},
	{"Volumes stay small copies of their snapshots.", "cinder", "cinder.conf", "ceph-rbd", "rbd_flatten_volume_from_snapshot", "false"},
	{"The pool of the claim.", "glance", "glance-api.conf", "ceph", "rbd_store_pool", "images"},
	{"The store of the claim.", "glance", "glance-api.conf", "glance_store", "default_backend", "ceph"},
	{"Cinder and Nova clone images in Ceph.", "glance", "glance-api.conf", "DEFAULT", "show_image_direct_url", "true"},
	{"Requests need a token.", "glance", "glance-api.conf", "paste_deploy", "flavor", "keystone"},
	{"Secrets are encrypted by Barbican's own plug-in.", "barbican", "barbican.conf", "secretstore", "enabled_secretstore_plugins", "store_crypto"},
	{"Requests are processed by workers.", "barbican", "barbican.conf", "queue", "enable", "true"},
	{"The new defaults are the secure ones.", "barbican", "barbican.conf", "oslo_policy", "enforce_new_defaults", "true"},
	{"Clients within the cluster use internal addresses.", "heat", "heat.conf", "clients", "endpoint_type", "internalURL"},
	{"The domain of users of stacks.", "heat", "heat.conf", "DEFAULT", "stack_user_domain_name", "heat"},
	{"Servers verify the certificate of the metadata address.", "heat", "heat.conf", "DEFAULT", "instance_connection_is_secure", "1"},
}

// config returns the ConfigMap with the file of a service.
func config(t *testing.T, c *cloud, name, file string) object {
	t.Helper()
	named := regexp.MustCompile("^" + name + "-config-[0-9a-f]{10}$")
	for _, o := range c.objects {
		if o.Kind == "ConfigMap" && named.MatchString(o.Name) && o.text("data", file) != "" {
			return o
		}
	}
	t.Fatalf("%s: no ConfigMap of %s has a file %s", c.name, name, file)
	return object{}
}

func TestOptionsHaveTheirValues(t *testing.T) {
	c := example(t, "complete/control-plane.yaml", "")
	for _, v := range values {
		if got := option(t, config(t, c, v.config, v.file), v.file, v.group, v.option); got != v.want {
			t.Errorf("%s: [%s] %s is %q, want %q: %s", v.config, v.group, v.option, got, v.want, v.reason)
		}
	}
}

// TestFieldsReachTheirOptions sets a number of its own in each field, so that a field that reaches the option of another is noticed.
func TestFieldsReachTheirOptions(t *testing.T) {
	c := example(t, "complete/control-plane.yaml", "numbers", func(spec map[string]any) {
		services, _ := spec["services"].(map[string]any)
		nova, _ := services["nova"].(map[string]any)
		nova["quotas"] = map[string]any{"instances": 11, "cores": 22, "memoryMiB": 33000}
		keystone, _ := services["keystone"].(map[string]any)
		keystone["fernet"] = map[string]any{"tokenExpirationSeconds": 7201, "allowExpiredWindowSeconds": 7303}
	})
	for _, v := range []struct{ config, file, group, option, want string }{
		{"nova", "nova.conf", "quota", "instances", "11"},
		{"nova", "nova.conf", "quota", "cores", "22"},
		{"nova", "nova.conf", "quota", "ram", "33000"},
		{"keystone", "keystone.conf", "token", "expiration", "7201"},
		{"keystone", "keystone.conf", "token", "allow_expired_window", "7303"},
	} {
		if got := option(t, config(t, c, v.config, v.file), v.file, v.group, v.option); got != v.want {
			t.Errorf("%s: [%s] %s is %q, want %q", v.config, v.group, v.option, got, v.want)
		}
	}
}

// TestServersEndWithinGrace holds the time that uWSGI gives its workers to that which the kubelet gives the pod.
func TestServersEndWithinGrace(t *testing.T) {
	mercy, checked := regexp.MustCompile(`(?m)^worker-reload-mercy = (\d+)$`), 0
	for _, c := range clouds(t) {
		files := map[string]int{}
		for _, o := range c.objects {
			if m := mercy.FindStringSubmatch(o.text("data", "uwsgi.ini")); o.Kind == "ConfigMap" && m != nil {
				var seconds int
				if _, err := fmt.Sscan(m[1], &seconds); err != nil {
					t.Fatal(err)
				}
				files[o.Name] = seconds
			}
		}
		for _, o := range c.objects {
			pod := at(o.manifest, "spec", "template", "spec")
			containers := list(at(pod, "containers"))
			if len(containers) == 0 || !strings.Contains(fmt.Sprint(at(containers[0], "command")), "/uwsgi.ini") {
				continue
			}
			grace, _ := at(pod, "terminationGracePeriodSeconds").(float64)
			for _, v := range list(at(pod, "volumes")) {
				name, _ := at(v, "configMap", "name").(string)
				if seconds := files[name]; seconds > 0 {
					checked++
					if seconds > int(grace) {
						t.Errorf("%s: %s ends after %v s, and its workers after %d s", c.name, o, grace, seconds)
					}
				}
			}
		}
	}
	if checked < 5 {
		t.Errorf("%d pods were found", checked)
	}
}
