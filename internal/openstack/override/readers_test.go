package override

import (
	"slices"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// TestOptionsReachTheirReaders checks, for every release, that the config of a service rejects options that only programs
// on hypervisors read, in any notation, and that the error contains the location of nova-compute's option, if there is one.
// Every other option passes checkReaders.
func TestOptionsReachTheirReaders(t *testing.T) {
	for service, tables := range services {
		rejected := map[string]int{}
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
					t.Errorf("%s %s: [%s] %s is rejected: %t, want %t: %s", service, known.Release, o.Group, o.Name, got, want, text)
				}
				if !strings.Contains(text, "on hypervisors can read") {
					continue
				}
				rejected[known.Release]++
				_, listed := optionOwner(services[computes], []registry.Name{{Group: o.Group, Option: o.Name}})
				field := "set spec.agents.novaCompute.config." + o.Group + "." + o.Name + " of the HypervisorCluster instead"
				if service == "nova" && !listed != strings.Contains(text, field) {
					t.Errorf("%s: nova-compute takes [%s] %s: %t, and the error is %s", known.Release, o.Group, o.Name, !listed, text)
				}
			}
			if nodePrograms[service] != nil && rejected[known.Release] == 0 {
				t.Errorf("%s %s: nothing is rejected", service, known.Release)
			}
		}
	}
}

// TestNovaComputeReadsPoolOptions checks that nova-compute reads each option that a pool may set, in every release that has the option.
func TestNovaComputeReadsPoolOptions(t *testing.T) {
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

// TestCheckReaders checks that the error contains the readers of the option and a remedy.
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
				"which has privileges on its node and does not get it; remove it",
		},
		"Both": {reason: "The API reads it, too.", service: "nova", config: "cinder: {cross_az_attach: false}"},
		"Agent": {
			reason: "Agents get no option of the claim.", service: "neutron", config: "local_ip: {static_nat: true}",
			want: in + "neutron.config.local_ip.static_nat: only neutron-openvswitch-agent, neutron-sriov-nic-agent on hypervisors can read this option, " +
				"which does not get the options of this claim; remove it",
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
