package hypervisor

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// podOf returns the template of a DaemonSet's pods.
func podOf(t *testing.T, set map[string]any) map[string]any {
	t.Helper()
	return set["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
}

// peerState has the shared certificates of a pool, and for each DaemonSet the service account of its pods and the number of their
// containers.
type peerState struct {
	Shared   []string
	Accounts map[string]string
}

func peerStateOf(t *testing.T, w *simulate.Cluster) peerState {
	t.Helper()
	out := peerState{Accounts: map[string]string{}}
	all := New().Run(w.Request()).Composed
	for _, name := range slices.Sorted(maps.Keys(all)) {
		_, o := lives(all[name].Object)
		switch component := strings.TrimSuffix(name, "-slice-edge"); {
		case strings.HasSuffix(name, "-certificate") && o["kind"] == "Certificate" && name != sharedCertificate && name != vncVolume:
			out.Shared = append(out.Shared, name)
		case o["kind"] == "DaemonSet" && slices.Contains([]string{libvirtComponent, diskTransferComponent, computeComponent}, component):
			pod := podOf(t, o)
			account, _ := pod["serviceAccountName"].(string)
			out.Accounts[name] = fmt.Sprintf("%s %d", account, len(pod["containers"].([]any)))
		}
	}
	return out
}

// earlier returns a pool of an earlier version, in which all nodes share their certificates, with a companion that cannot sign yet.
func earlier(t *testing.T) *simulate.Cluster {
	t.Helper()
	w := newCluster(more(`slices: [{name: edge, nodeSelector: {tier: edge}}]`), "tenant-a", objects(planeClaim, controlPlaneYAML)...)
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	for _, component := range []string{migrationComponent, diskTransferComponent} {
		w.Observed[component+"-certificate"] = w.Observed[component+"-ca"]
		o, put := inside(t, w, component+"-node-issuer")
		o["status"] = map[string]any{}
		put()
	}
	for _, set := range peerSets {
		o, put := inside(t, w, set)
		pod := podOf(t, o)
		pod["containers"] = pod["containers"].([]any)[:1]
		delete(pod, "serviceAccountName")
		put()
	}
	return w
}

var peerSets = []string{
	libvirtComponent, libvirtComponent + "-slice-edge", diskTransferComponent, diskTransferComponent + "-slice-edge",
	computeComponent, computeComponent + "-slice-edge",
}

// TestPoolMovesToNodeCertificates verifies that an existing pool moves to a certificate of each node without an interruption: pods request
// it when the companion can sign, and the shared certificate stays until no pod uses it. A new pool has never had it.
func TestPoolMovesToNodeCertificates(t *testing.T) {
	accounts := func(separate bool) map[string]string {
		out := map[string]string{}
		for _, set := range peerSets {
			out[set] = " 1"
			switch {
			case separate && strings.HasPrefix(set, libvirtComponent):
				out[set] = migrationComponent + " 2"
			case separate:
				out[set] = diskTransferComponent + " 2"
			}
		}
		return out
	}
	both := []string{"disk-transfer-certificate", "live-migration-certificate", "qemu-certificate"}
	check := func(reason string, w *simulate.Cluster, want peerState) {
		t.Helper()
		if diff := cmp.Diff(want, peerStateOf(t, w)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	fresh := newCluster(more(`slices: [{name: edge, nodeSelector: {tier: edge}}]`), "tenant-a", objects(planeClaim, controlPlaneYAML)...)
	if err := makeReady(fresh); err != nil {
		t.Fatal(err)
	}
	check("A new pool has no shared certificate.", fresh, peerState{Accounts: accounts(true)})

	w := earlier(t)
	check("The companion is of an earlier version.", w, peerState{Shared: both[:2], Accounts: accounts(false)})
	status := func(set string, updated, available float64) {
		o, put := inside(t, w, set)
		s := o["status"].(map[string]any)
		s["desiredNumberScheduled"], s["updatedNumberScheduled"], s["numberAvailable"] = 10.0, updated, available
		put()
	}
	sign := func() {
		t.Helper()
		if _, err := w.Call(func(simulate.Step) {}); err != nil { // The companion becomes ready.
			t.Fatal(err)
		}
	}
	sign()
	check("The pods are replaced.", w, peerState{Shared: both, Accounts: accounts(true)})
	sign()
	for _, set := range peerSets {
		status(set, 0, 10)
	}
	check("No pod is replaced yet.", w, peerState{Shared: both, Accounts: accounts(true)})
	for _, set := range peerSets[2:] {
		status(set, 10, 10)
	}
	status(libvirtComponent, 10, 10)
	status(libvirtComponent+"-slice-edge", 9, 9)
	check("A pod of libvirt is old: it is not replaced when its node returns.", w,
		peerState{Shared: []string{"live-migration-certificate", "qemu-certificate"}, Accounts: accounts(true)})
	status(libvirtComponent+"-slice-edge", 10, 10)
	check("All pods have a certificate of their node.", w, peerState{Accounts: accounts(true)})
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	status(libvirtComponent, 0, 10)
	check("A later rollout changes nothing.", w, peerState{Accounts: accounts(true)})
}

// TestPeerCertificates_DiskTransfer verifies that the shared certificate stays while pods of one DaemonSet are old.
func TestPeerCertificates_DiskTransfer(t *testing.T) {
	for _, set := range peerSets[2:] {
		t.Run(set, func(t *testing.T) {
			w := earlier(t)
			for range 3 {
				if _, err := w.Call(func(simulate.Step) {}); err != nil {
					t.Fatal(err)
				}
				o, put := inside(t, w, set)
				status := o["status"].(map[string]any)
				status["desiredNumberScheduled"], status["updatedNumberScheduled"], status["numberAvailable"] = 10.0, 1.0, 10.0
				put()
			}
			if got := peerStateOf(t, w).Shared; !slices.Contains(got, "disk-transfer-certificate") {
				t.Errorf("shared certificates: %q", got)
			}
		})
	}
}

// TestPeerCertificates_OtherClusters verifies that pools without a companion in their cluster share a certificate.
func TestPeerCertificates_OtherClusters(t *testing.T) {
	everywhere(t, mine, func(t *testing.T, nodes, plane string, all map[string]encoded.Struct) {
		for _, component := range []string{migrationComponent, diskTransferComponent} {
			_, shared := all[component+"-certificate"]
			_, issuer := all[component+"-node-issuer"]
			if shared != (nodes != plane) || issuer == shared {
				t.Errorf("%s: shared certificate %t, NodeIssuer %t", component, shared, issuer)
			}
		}
	})
}

// TestCertificatesServeOnePurpose verifies that a certificate for one purpose is of no use for another: each has a separate authority,
// service account and signer.
func TestCertificatesServeOnePurpose(t *testing.T) {
	w := newCluster(mine, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	used := map[string]string{}
	for purpose, set := range map[string]string{
		"node-issuer": controllerComponent, "live-migration-node-issuer": libvirtComponent, "disk-transfer-node-issuer": computeComponent,
	} {
		spec := composed(t, w, purpose)["spec"].(map[string]any)
		name := composed(t, w, purpose)["metadata"].(map[string]any)["name"].(string)
		pod := podOf(t, composed(t, w, set))
		if pod["serviceAccountName"] != spec["serviceAccountName"] {
			t.Errorf("%s: pods of %s have the account %v, and it signs for %v", purpose, set, pod["serviceAccountName"], spec["serviceAccountName"])
		}
		requested := ""
		for _, e := range pod["containers"].([]any)[1].(map[string]any)["env"].([]any) {
			if e := e.(map[string]any); e["name"] == "SIGNER" {
				requested = e["value"].(string)
			}
		}
		if want := "nodes.c5c3.io/" + cloud + "." + name; requested != want {
			t.Errorf("%s: pods request from %s, want %s", purpose, requested, want)
		}
		for _, part := range []string{"signer " + name, fmt.Sprint("account ", spec["serviceAccountName"]), fmt.Sprint("authority ", spec["authoritySecretName"])} {
			if other, ok := used[part]; ok {
				t.Errorf("%s is used by %s and %s", part, purpose, other)
			}
			used[part] = purpose
		}
		if server := spec["server"] != nil; server != (purpose != "node-issuer") {
			t.Errorf("%s: certificates of servers %t", purpose, server)
		}
	}
}

// TestPeerCertificates_Emulator verifies that QEMU has a certificate of its own, separate or shared, which libvirt does not accept from a
// client, and which other nodes accept for migrations.
func TestPeerCertificates_Emulator(t *testing.T) {
	everywhere(t, mine, func(t *testing.T, nodes, plane string, all map[string]encoded.Struct) {
		named := map[string]any{}
		for name, o := range all {
			_, o := lives(o)
			spec, _ := o["spec"].(map[string]any)
			if server, ok := spec["server"].(map[string]any); ok {
				named[name+" of "+fmt.Sprint(spec["authoritySecretName"])] = server["commonName"]
			}
			issuer, _ := spec["issuerRef"].(map[string]any)
			if commonName, ok := spec["commonName"]; ok && (issuer["name"] == "live-migration-ca" || issuer["name"] == "disk-transfer-ca") {
				named[name+" of "+fmt.Sprint(issuer["name"])] = commonName
			}
		}
		pool := named["disk-transfer-node-issuer of disk-transfer-ca"]
		want := map[string]any{
			"live-migration-node-issuer of live-migration-ca": pool, "qemu-node-issuer of live-migration-ca": emulatorName,
			"disk-transfer-node-issuer of disk-transfer-ca": pool,
		}
		if nodes != plane {
			pool = named["disk-transfer-certificate of disk-transfer-ca"]
			want = map[string]any{
				"live-migration-certificate of live-migration-ca": pool, "qemu-certificate of live-migration-ca": emulatorName,
				"disk-transfer-certificate of disk-transfer-ca": pool,
			}
		}
		if diff := cmp.Diff(want, named); diff != "" {
			t.Errorf("common names (-want +got):\n%s", diff)
		}
		_, config := lives(all["libvirt-config"])
		conf := config["data"].(map[string]any)["libvirtd.conf"].(string)
		if want := fmt.Sprintf("tls_allowed_dn_list = [\"CN=%v\"]\n", pool); pool == emulatorName || !strings.Contains(conf, want) {
			t.Errorf("libvirt does not have %s:\n%s", want, conf)
		}
	})
}

// TestPeerCertificates_Interface verifies that nodes have an address that Kubernetes does not list only if the claim names an interface.
func TestPeerCertificates_Interface(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec string
		want         bool
	}{
		"node":  {reason: "Nodes have the address in Kubernetes.", spec: mine},
		"pool":  {"All nodes have another network.", more("networks: {liveMigration: {interface: bond1}}"), true},
		"slice": {"Nodes of a slice have another network.", more("slices: [{name: a, nodeSelector: {a: b}, networks: {liveMigration: {interface: bond1}}}]"), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(tc.spec, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			server := composed(t, w, "live-migration-node-issuer")["spec"].(map[string]any)["server"].(map[string]any)
			if got, _ := server["unlistedAddresses"].(bool); got != tc.want {
				t.Errorf("%s\nunlisted addresses: %t", tc.reason, got)
			}
		})
	}
}

// TestLibvirt_Certificate verifies that libvirt starts when the node has a certificate, with links to it where libvirt and QEMU expect it,
// and that a pod is neither ready nor restarted while it waits.
func TestLibvirt_Certificate(t *testing.T) {
	dir := stubs(t, map[string]string{"virt-admin": "", "libvirtd": "", "virsh": ""})
	nodeOf(t, dir)
	if err := os.RemoveAll(filepath.Join(dir, "pki")); err != nil {
		t.Fatal(err)
	}
	certificate := t.TempDir()
	env := []string{
		"PATH=" + dir + ":" + withoutPrograms(t, "swtpm"), "NODE_IP=10.0.0.1", "INTERFACE=", "URI=qemu:///system", "CERTIFICATE=" + certificate,
		"EMULATOR_CERTIFICATE=" + certificate + "/qemu",
	}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "sh", append([]string{filepath.Join(dir, "libvirt.sh")}, args...)...)
		cmd.Env = env
		return cmd
	}
	cmd := run()
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "tmp/private/waiting")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not wait: %s", out.String())
		}
	}
	if text, err := run("ready").CombinedOutput(); err == nil || !strings.Contains(string(text), "no certificate yet") {
		t.Errorf("it is ready without a certificate: %s", text)
	}
	if text, err := run("alive").CombinedOutput(); err != nil {
		t.Errorf("it is restarted while it waits: %s", text)
	}
	for _, file := range []string{"ca.crt", "tls.key", "tls.crt"} {
		write(t, filepath.Join(certificate, "qemu", file), "QEMU's "+file)
		write(t, filepath.Join(certificate, file), file)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	for file, want := range map[string]string{
		"pki/CA/cacert.pem": "ca.crt", "pki/libvirt/servercert.pem": "tls.crt", "pki/libvirt/private/serverkey.pem": "tls.key",
		"pki/libvirt/clientcert.pem": "tls.crt", "pki/libvirt/private/clientkey.pem": "tls.key",
		"run/pki/ca-cert.pem": "QEMU's ca.crt", "run/pki/server-cert.pem": "QEMU's tls.crt", "run/pki/server-key.pem": "QEMU's tls.key",
		"run/pki/client-cert.pem": "QEMU's tls.crt", "run/pki/client-key.pem": "QEMU's tls.key",
	} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
			t.Errorf("%s is %q (%v), want %s", file, got, err, want)
		}
	}
	// A renewed certificate reaches libvirt or QEMU with the next probe. libvirt reads only its own one.
	for _, renewed := range []string{"qemu/tls.crt", "tls.crt"} {
		write(t, filepath.Join(certificate, renewed), "renewed")
		if text, err := run("ready").CombinedOutput(); err != nil {
			t.Errorf("it is not ready: %v: %s", err, text)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "run/pki/server-cert.pem")); err != nil || string(got) != "renewed" {
			t.Errorf("QEMU has %q (%v)", got, err)
		}
		called, err := os.ReadFile(filepath.Join(dir, "called"))
		read := strings.Contains(string(called), "virt-admin --connect libvirtd:///system server-update-tls libvirtd\n")
		if err != nil || read != (renewed == "tls.crt") {
			t.Errorf("libvirt reads %s: %t (%v):\n%s", renewed, read, err, called)
		}
	}
}

// TestLibvirt_Filter verifies that libvirt does not start with a QEMU that has no filter of system calls, and that the filter is on.
func TestLibvirt_Filter(t *testing.T) {
	if !strings.Contains(qemuConf, "\nseccomp_sandbox = 1\n") {
		t.Errorf("the filter can be off:\n%s", qemuConf)
	}
	for name, tc := range map[string]struct {
		reason, qemu, want string
	}{
		"filter":    {reason: "QEMU is built with seccomp.", qemu: `[ "$*" = "-sandbox on -version" ]`},
		"no filter": {"libvirt would start it without a filter.", "exit 1", "has no filter of system calls"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := stubs(t, map[string]string{"virt-admin": "", "libvirtd": "", "virsh": "", "qemu-system-x86_64": tc.qemu})
			nodeOf(t, dir)
			out, err := script(t, dir, []string{"NODE_IP=10.0.0.1", "INTERFACE=", "URI=qemu:///system", "SWTPM_USER=42424"}, filepath.Join(dir, "libvirt.sh"))
			if (err == nil) != (tc.want == "") || !strings.Contains(out, tc.want) {
				t.Errorf("%s\n%v: %s", tc.reason, err, out)
			}
			called, err := os.ReadFile(filepath.Join(dir, "called"))
			if started := strings.Contains(string(called), "libvirtd --listen"); err != nil || started != (tc.want == "") {
				t.Errorf("%s\nlibvirt has started: %t (%v)", tc.reason, started, err)
			}
		})
	}
}
