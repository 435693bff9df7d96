package wiring

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// configFile returns the name of the file of oslo.config that a service's programs read.
func configFile(service string) string {
	if service == "glance" {
		return "glance-api.conf" // The API's; other programs of Glance do not run.
	}
	return service + ".conf"
}

// A configured program is a program that a container runs with a configuration file.
type configured struct {
	program, service string
	// of is the pod, and file the object in which the file is.
	of, file string
	// job: it runs a command of the program to completion.
	job     bool
	options oslo.File
	// variables are texts with names of environment variables: those of the container, and those that a script sets.
	variables string
	readers   *registry.Readers
}

// gets reports whether a program is configured with an option.
func (c *configured) gets(group, option string) bool {
	if _, ok := c.options[group][option]; ok {
		return true
	}
	name, err := oslo.EnvName(group, option)
	return err == nil && strings.Contains(c.variables, name)
}

// wsgiModule is the application that uWSGI serves.
var wsgiModule = regexp.MustCompile(`(?m)^module = ([\w.]+):`)

// programsOf returns the programs that texts start: those that a line has as a word, or the application that uWSGI
// serves.
func programsOf(texts, known []string) []string {
	var served, named []string
	for _, t := range texts {
		for _, m := range wsgiModule.FindAllStringSubmatch(t, -1) {
			served = append(served, m[1])
		}
		for line := range strings.Lines(t) {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") {
				named = append(named, strings.Fields(line)...)
			}
		}
	}
	out := named
	if len(served) > 0 {
		out = served
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(p string) bool { return !slices.Contains(known, p) })
}

// configuredPrograms returns every program that a pod runs with a configuration file.
func (w *inventory) configuredPrograms() []*configured {
	running := ""
	for _, g := range w.inputs {
		running = first(text(g, "spec", "openStackRelease"), running)
	}
	var out []*configured
	for _, p := range w.pods {
		if p.spec == nil {
			continue
		}
		for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
			mounts := w.mounts(p, c)
			for _, service := range release.Services() {
				file := configFile(service)
				readers, err := registry.ReadersOf(service, running)
				at := slices.IndexFunc(mounts, func(m mounted) bool { return path.Base(m.path) == file && m.value.content != "" })
				if err != nil || at < 0 {
					continue
				}
				options, err := oslo.Parse(mounts[at].value.content)
				if err != nil {
					w.foundf("%s: container %s cannot read %s: %v.", p, c.Name, file, err)
					continue
				}
				started, variables := starts(p, c, mounts)
				for _, program := range programsOf(started, readers.Programs) {
					out = append(out, &configured{
						program: program, service: service, of: p.String(), file: w.sourceOf(p, c, file), job: p.replicas == nil || len(c.Command) == 0,
						options: options, variables: variables, readers: readers,
					})
				}
			}
		}
	}
	return out
}

// starts returns the commands of a container, and the names of variables that it gets or sets. For a container without
// a command, the companion creates pods whose commands are in other fields of the object.
func starts(p *pod, c corev1.Container, mounts []mounted) (commands []string, variables string) {
	commands = slices.Concat(c.Command, c.Args)
	if len(c.Command) == 0 {
		each(p.of.spec(), nil, func(_ []string, m fields) {
			for field := range m {
				commands = append(commands, append(texts(m, field), text(m, field))...)
			}
		})
		if p.of.kind == "CellMapping" {
			commands = append(commands, "nova-manage")
		}
	}
	var names []string
	for _, e := range c.Env {
		names = append(names, e.Name)
		if e.Name == "PROGRAM" { // A script runs it.
			commands = append(commands, e.Value)
		}
	}
	requested := strings.Join(commands, "\n")
	for _, m := range mounts {
		if strings.Contains(requested, path.Base(m.path)) && (isScript(m.value.content) || path.Ext(m.path) == ".ini") {
			commands, names = append(commands, m.value.content), append(names, m.value.content)
		}
	}
	return commands, strings.Join(names, "\n")
}

// sourceOf returns the ConfigMap or Secret of a container's file.
func (w *inventory) sourceOf(p *pod, c corev1.Container, file string) string {
	for _, m := range c.VolumeMounts {
		for _, s := range sourcesOf(p, m.Name) {
			if created := w.secrets[secretName{p.namespaceRef, s.name}]; created != nil {
				if _, ok := created.keys[file]; ok {
					return s.name
				}
			}
		}
	}
	return ""
}

// checkOptions checks that a program reads each option of a file, and that every program that reads an option gets it
// if another program of its service does.
func (w *inventory) checkOptions() {
	all := w.configuredPrograms()
	byFile := map[string][]*configured{}
	for _, c := range all {
		byFile[c.file] = append(byFile[c.file], c)
	}
	for file, programs := range byFile {
		w.checkReaders(file, programs, all)
	}
	w.checkGets(all)
}

// ignored reports whether no program of a service reads an option.
func ignored(programs []*configured, service, group, option string) bool {
	return !slices.ContainsFunc(programs, func(c *configured) bool {
		return c.service == service && c.readers.Use(c.program, group, option) != registry.Ignores
	})
}

// isSetByClaim reports whether a claim sets an option of a service. The option is added to all files of the service:
// one reader is enough.
func (w *inventory) isSetByClaim(service, group, option string) bool {
	return slices.ContainsFunc(w.inputs, func(g fields) bool {
		config, _ := at(g, "spec", "services", service, "config").(fields)
		for name, options := range config {
			set, _ := options.(fields)
			if _, ok := set[option]; ok && strings.EqualFold(name, group) {
				return true
			}
		}
		return false
	})
}

func (w *inventory) checkReaders(file string, programs, all []*configured) {
	service := programs[0].service
	var names []string
	for _, p := range programs {
		names = append(names, p.program)
	}
	slices.Sort(names)
	for group, options := range programs[0].options {
		for option := range options {
			if !ignored(programs, service, group, option) || w.isSetByClaim(service, group, option) && !ignored(all, service, group, option) {
				continue
			}
			w.foundf("%s sets [%s] %s, which none of its programs reads: %s.", file, group, option, strings.Join(slices.Compact(names), ", "))
		}
	}
}

// checkGets ignores Jobs, because they run one of many commands, which read different options. Pods of one program
// differ in order.
func (w *inventory) checkGets(all []*configured) {
	got := map[string]map[string][]*configured{} // service → group and option → who gets it by a file
	for _, c := range all {
		if got[c.service] == nil {
			got[c.service] = map[string][]*configured{}
		}
		for group, options := range c.options {
			for option := range options {
				got[c.service][group+" "+option] = append(got[c.service][group+" "+option], c)
			}
		}
	}
	for _, c := range all {
		if c.job {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(got[c.service])) {
			group, option, _ := strings.Cut(name, " ")
			if c.readers.Use(c.program, group, option) != registry.Reads || c.gets(group, option) || lacks(c, group, option) {
				continue
			}
			for _, other := range got[c.service][name] {
				if other.program != c.program || other.job {
					w.foundf("%s reads [%s] %s, which %s gets, and %s does not.", c.program, group, option, other.of, c.of)
					break
				}
			}
		}
	}
}

// lacking are options that programs read and do not get although other programs of their service do. Each row was reviewed with the code
// that reads the option. An empty option is every one of its group.
var lacking = []struct {
	reason   string
	programs []string
	group    string
	option   string
}{
	{
		"Only hypervisors have disks: the driver of Ceph is in a module that others import, and nothing there creates it.",
		novaAbove, "libvirt", "",
	},
	{
		"Only hypervisors have devices: pools of devices from the database are counted without the rules by which nova-compute finds them.",
		novaAbove, "pci", "",
	},
	{
		"The conductor above the cells, which has the scheduler's file, checks the affinity of server groups; the conductor of a cell does not.",
		[]string{"nova-conductor"}, "filter_scheduler", "enabled_filters",
	},
	{
		"The API's process loads its own pipelines of api-paste.ini, and not the pipelines of the metadata API, which is another process.",
		[]string{"nova.wsgi.osapi_compute"}, "neutron", "service_metadata_proxy",
	},
	{
		"The same.", []string{"nova.wsgi.osapi_compute"}, "api", "local_metadata_per_cell",
	},
	{
		"The cache is in the control plane. nova-compute keeps the zones of hosts in its memory, for an hour.",
		[]string{"nova-compute"}, "cache", "",
	},
	{
		"nova-compute makes the metadata of a server for its disk of configuration; only the API looks for servers in a cell.",
		[]string{"nova-compute"}, "api", "local_metadata_per_cell",
	},
	{
		"The API decides where a server is resized; nova-compute has the same module for internal operations.",
		[]string{"nova-compute"}, "DEFAULT", "allow_resize_to_same_host",
	},
	{
		"Programs on hypervisors get no rules of the control plane: they use the default ones of the release.",
		append([]string{"nova-compute"}, neutronAgents...), "oslo_policy", "policy_file",
	},
	{
		"In 2025.1 it imports the module of OVN's other agent, which alone connects to the northbound database.",
		[]string{"neutron-ovn-metadata-agent"}, "ovn", "ovn_nb_connection",
	},
	{
		"The same.",
		[]string{"neutron-ovn-metadata-agent"}, "ovn", "ovn_nb_ca_cert",
	},
	{
		"The same.",
		[]string{"neutron-ovn-metadata-agent"}, "ovn", "ovn_nb_certificate",
	},
	{
		"The same.",
		[]string{"neutron-ovn-metadata-agent"}, "ovn", "ovn_nb_private_key",
	},
	{
		"The same: only that agent has extensions.",
		[]string{"neutron-ovn-metadata-agent"}, "agent", "extensions",
	},
	{
		"It has no queue, and sends no notifications.",
		[]string{"neutron-ovn-metadata-agent"}, "oslo_messaging_notifications", "driver",
	},
	{
		"Only agents run commands as root: the servers have functions of them, which they do not call.",
		neutronServers, "agent", "root_helper",
	},
	{
		"Agents load no plug-in of the server, and have no workers for its queue.",
		neutronAgents, "DEFAULT", "core_plugin",
	},
	{
		"Agents load no plug-in of the server.", neutronAgents, "DEFAULT", "service_plugins",
	},
	{
		"Agents have no workers for the server's queue.", neutronAgents, "DEFAULT", "rpc_workers",
	},
	{
		"Agents have separate options for the mechanism.", neutronAgents, "ml2", "mechanism_drivers",
	},
}

var (
	// novaAbove are the programs of Nova in the control plane.
	novaAbove = []string{
		"nova.wsgi.osapi_compute", "nova.wsgi.metadata", "nova-conductor", "nova-scheduler", "nova-novncproxy", "nova-spicehtml5proxy",
		"nova-serialproxy",
	}
	neutronServers = []string{"neutron.wsgi.api", "neutron-rpc-server", "neutron-periodic-workers", "neutron-ovn-maintenance-worker"}
	neutronAgents  = []string{
		"neutron-dhcp-agent", "neutron-l3-agent", "neutron-metadata-agent", "neutron-openvswitch-agent", "neutron-ovn-metadata-agent",
		"neutron-sriov-nic-agent",
	}
)

// lacks reports whether a program has a reason not to get an option.
func lacks(c *configured, group, option string) bool {
	for _, l := range lacking {
		if slices.Contains(l.programs, c.program) && l.group == group && (l.option == option || l.option == "") {
			return true
		}
	}
	return false
}

// Options returns only the findings about the options of a cloud.
func Options(c Cloud) []string {
	w := newInventory(c)
	w.checkOptions()
	slices.Sort(w.findings)
	return slices.Compact(w.findings)
}
