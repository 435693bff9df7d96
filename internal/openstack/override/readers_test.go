package override

import (
	"slices"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// TestOptionsReachTheirReaders: in every release, an option that only programs on hypervisors can read is refused in the config of its service,
// however it is set, and the error names where nova-compute's is set if it may be; every other option passes checkReaders.
func TestOptionsReachTheirReaders(t *testing.T) {
	for service, tables := range services {
		refused := map[string]int{}
		for _, known := range registry.All(service) {
			readers, err := registry.ReadersOf(service, known.Release)
			if err != nil {
				t.Fatal(err)
			}
			for name, o := range tabled(known) {
				if _, owned := optionOwner(tables, []registry.Name{name}); owned || o.Secret || strings.HasPrefix(name.Group, "<") {
					continue
				}
				uses := func(node bool) bool {
					return slices.ContainsFunc(readers.Programs, func(p string) bool {
						return slices.Contains(nodePrograms[service], p) == node && readers.Use(p, o.Group, o.Name) != registry.Ignores
					})
				}
				_, err := Options(service, known.Release, overrides(t, "{config: {"+o.Group+": {"+o.Name+": 1}}}"), "spec.services."+service)
				text := ""
				if err != nil {
					text = err.Error()
				}
				if got, want := strings.Contains(text, "on hypervisors can read this option"), uses(true) && !uses(false); got != want {
					t.Errorf("%s %s: [%s] %s is refused: %t, want %t: %s", service, known.Release, o.Group, o.Name, got, want, text)
				}
				if !strings.Contains(text, "on hypervisors can read") {
					continue
				}
				refused[known.Release]++
				_, listed := optionOwner(services[computes], []registry.Name{{Group: o.Group, Option: o.Name}})
				field := "set spec.agents.novaCompute.config." + o.Group + "." + o.Name + " of the HypervisorCluster instead"
				if service == "nova" && !listed != strings.Contains(text, field) {
					t.Errorf("%s: nova-compute takes [%s] %s: %t, and the error is %s", known.Release, o.Group, o.Name, !listed, text)
				}
			}
			if nodePrograms[service] != nil && refused[known.Release] == 0 {
				t.Errorf("%s %s: nothing is refused", service, known.Release)
			}
		}
	}
}

// TestComputeReads: nova-compute can read each option that a pool may set for it, in every release that has the option.
func TestComputeReads(t *testing.T) {
	for _, known := range registry.All("nova") {
		readers, err := registry.ReadersOf("nova", known.Release)
		if err != nil {
			t.Fatal(err)
		}
		checked := 0
		for group, options := range novaCompute {
			for option, o := range options {
				if !o.tenant || len(known.Lookup(group, option)) == 0 {
					continue
				}
				checked++
				if readers.Use(novaComputeProgram, group, option) == registry.Ignores {
					t.Errorf("%s: nova-compute ignores [%s] %s, which a pool may set", known.Release, group, option)
				}
			}
		}
		if checked == 0 {
			t.Errorf("%s: no option was checked", known.Release)
		}
	}
}

// TestCheckReaders: the error says who reads the option and what to do.
func TestCheckReaders(t *testing.T) {
	const in = "spec.services."
	for name, tc := range map[string]struct{ reason, service, config, want string }{
		"Compute": {
			reason: "A pool takes it.", service: "nova", config: "consoleauth: {token_ttl: 60}",
			want: in + "nova.config.consoleauth.token_ttl: only nova-compute on hypervisors can read this option; " +
				"set spec.agents.novaCompute.config.consoleauth.token_ttl of the HypervisorCluster instead",
		},
		"Field": {
			reason: "A pool has a field.", service: "nova", config: "DEFAULT: {max_concurrent_live_migrations: 2}",
			want: in + "nova.config.DEFAULT.max_concurrent_live_migrations: only nova-compute on hypervisors can read this option; " +
				"set spec.virtualization.liveMigration.parallelOutboundMigrationsPerNode of the HypervisorCluster instead",
		},
		"None": {
			reason: "A pool has no place for it.", service: "nova", config: "DEFAULT: {compute_monitors: [cpu.virt_driver]}",
			want: in + "nova.config.DEFAULT.compute_monitors: only nova-compute on hypervisors can read this option, " +
				"which has rights of its node and does not get it; leave it out",
		},
		"Both": {reason: "The API reads it, too.", service: "nova", config: "cinder: {cross_az_attach: false}"},
		"Agent": {
			reason: "Agents get no option of the claim.", service: "neutron", config: "local_ip: {static_nat: true}",
			want: in + "neutron.config.local_ip.static_nat: only neutron-openvswitch-agent, neutron-sriov-nic-agent on hypervisors can read this option, " +
				"which does not get it; leave it out",
		},
		"Former": {reason: "By another case of the group.", service: "nova", config: "ConsoleAuth: {token_ttl: 60}",
			want: in + "nova.config.ConsoleAuth.token_ttl: only nova-compute on hypervisors can read this option; " +
				"set spec.agents.novaCompute.config.consoleauth.token_ttl of the HypervisorCluster instead",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Options(tc.service, "2025.2", overrides(t, "{config: {"+tc.config+"}}"), in+tc.service)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}
