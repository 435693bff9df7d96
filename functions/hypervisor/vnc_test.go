package hypervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
)

// TestVNC_TLS verifies that VNC servers of a pool have a certificate of the cell's authority and reject other clients, if the pool
// configures libvirt and the cell has that authority.
func TestVNC_TLS(t *testing.T) {
	const issuer = "      vncIssuerRef: {name: nova-cell1-vnc-ca, kind: Issuer}\n"
	for name, tc := range map[string]struct {
		reason, spec, plane string
		want                bool
	}{
		"managed": {"The pool configures libvirt.", mine, controlPlaneYAML, true},
		"host":    {"The owner of the operating system configures libvirt.", more("virtualization: {libvirt: {mode: Host}}"), controlPlaneYAML, false},
		"earlier": {"The control plane has not been composed since the upgrade.", mine, strings.Replace(controlPlaneYAML, issuer, "", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(tc.spec, "tenant-a", objects(planeClaim, tc.plane)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			_, requested := w.Observed[vncVolume]
			_, managed := w.Observed[libvirtComponent]
			if requested != tc.want {
				t.Fatalf("%s\na certificate is requested: %v", tc.reason, requested)
			}
			if !managed {
				return
			}
			config, _ := inside(t, w, libvirtComponent+"-config")
			set, _ := inside(t, w, libvirtComponent)
			pod := set["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
			data := config["data"].(map[string]any)
			text, _ := data[mountedFile(pod, "/etc/libvirt/qemu.conf")].(string)
			if earlier, _ := data["qemu.conf"].(string); earlier == "" || strings.Contains(earlier, "vnc_tls") {
				t.Errorf("%s\na pod of an earlier version, which has no certificate, starts with:\n%s", tc.reason, earlier)
			}
			// Policies admit proxies to these ports only.
			if want := fmt.Sprintf("\nremote_display_port_max = %d\n", compute.LastConsolePort); !strings.Contains(text, want) {
				t.Errorf("%s\nlibvirt assigns ports that proxies do not reach; qemu.conf lacks %q", tc.reason, want)
			}
			for option, value := range map[string]string{
				"vnc_tls": "1", "vnc_tls_x509_verify": "1", "vnc_tls_x509_cert_dir": `"/run/libvirt/pki/vnc"`,
			} {
				if set := strings.Contains(text, "\n"+option+" = "+value+"\n"); set != tc.want {
					t.Errorf("%s\n%s = %s is set: %v", tc.reason, option, value, set)
				}
			}
			mounted := slices.ContainsFunc(pod["volumes"].([]any), func(v any) bool {
				volume := v.(map[string]any)
				secret, _ := volume["secret"].(map[string]any)
				// With other consoles the Secret is deleted, and the pod must still start after a restart of its node.
				return volume["name"] == vncVolume && secret["optional"] == true
			})
			if mounted != tc.want {
				t.Errorf("%s\nthe certificate is mounted: %v", tc.reason, mounted)
			}
			if !tc.want {
				return
			}
			object, _ := inside(t, w, vncVolume)
			spec := object["spec"].(map[string]any)
			want := map[string]any{
				"namespace": cloud, "issuer": "nova-cell1-vnc-ca", "usages": []any{"digital signature", "key encipherment", "server auth"},
			}
			got := map[string]any{
				"namespace": object["metadata"].(map[string]any)["namespace"], "issuer": spec["issuerRef"].(map[string]any)["name"],
				"usages": spec["usages"],
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// mountedFile returns the file of a ConfigMap that the first container of a pod has at a path.
func mountedFile(pod map[string]any, path string) string {
	for _, m := range pod["containers"].([]any)[0].(map[string]any)["volumeMounts"].([]any) {
		if mount := m.(map[string]any); mount["mountPath"] == path {
			file, _ := mount["subPath"].(string)
			return file
		}
	}
	return ""
}

// TestLibvirt_StartsWithoutVNCCertificate verifies that the folder that qemu.conf names exists in a pod whose certificate was deleted, and that
// probes of such a pod and of a pod of an earlier version succeed.
func TestLibvirt_StartsWithoutVNCCertificate(t *testing.T) {
	for name, folder := range map[string]bool{"deleted": true, "earlier version": false} {
		t.Run(name, func(t *testing.T) {
			dir := stubs(t, map[string]string{"virt-admin": "", "date": "echo 1", "virsh": ""})
			nodeOf(t, dir)
			if folder {
				if err := os.Mkdir(filepath.Join(dir, "pki-vnc"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			write(t, filepath.Join(dir, "tmp/certificates"), "other certificates")
			for range 2 {
				if out, err := script(t, dir, []string{"URI=qemu:///system"}, filepath.Join(dir, "libvirt.sh"), "ready"); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			if files, err := os.ReadDir(filepath.Join(dir, "run/pki/vnc")); err != nil || len(files) > 0 {
				t.Errorf("the folder has %v, %v", files, err)
			}
		})
	}
}

// TestLibvirt_ReloadsVNCCertificate verifies that QEMU of each running server reads a renewed certificate, also after the pod was replaced,
// and that a server that does not respond delays no others.
func TestLibvirt_ReloadsVNCCertificate(t *testing.T) {
	const (
		command = `virsh --quiet --connect qemu:///system qemu-monitor-command NAME {"execute": "display-reload", "arguments": {"type": "vnc", "tls-certs": true}}`
		list    = "virsh --quiet --connect qemu:///system list --uuid\n"
	)
	reload := func(name string) string { return strings.Replace(command, "NAME", name, 1) + "\n" }
	for name, tc := range map[string]struct {
		// virsh is the stub; first are the servers, probes the number of probes after the renewal.
		reason, virsh string
		probes        int
		// without: the pool has no certificate for VNC.
		without bool
		want    string
		rest    string
		// log is a part of the output.
		log string
	}{
		"renewed": {reason: "All servers read it.", probes: 3, want: list + reload("a") + reload("b"), rest: ""},
		"without": {reason: "Servers have other consoles, or the pod is of an earlier version.", probes: 3, without: true},
		"busy": {
			reason: "A server is being migrated, and the others do not wait for it.", probes: 3,
			virsh: `case "$*" in *"qemu-monitor-command a"*) exit 124 ;; esac`, want: list + reload("a") + reload("b"), rest: "a\n",
		},
		"stopped": {
			reason: "A server stops after it was listed.", probes: 3,
			virsh: `case "$*" in *"qemu-monitor-command a"*) exit 1 ;; esac`, want: list + reload("a") + reload("b"), rest: "",
		},
		"rejected": {
			reason: "QEMU cannot read the certificate; the log has its message.", probes: 3,
			virsh: `case "$*" in *qemu-monitor-command*) echo '{"error": {"desc": "no certificate"}}' ;; esac`,
			want:  list + reload("a") + reload("b"), rest: "", log: `keeps its certificate for VNC: {"error"`,
		},
		"unresponsive": {
			reason: "libvirtd restarts.", probes: 2, virsh: `case "$*" in *list*) exit 1 ;; esac`, want: list, rest: "all\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := stubs(t, map[string]string{
				"virt-admin": "", "date": "echo 1", // All servers fit into one probe.
				"virsh": tc.virsh + "\ncase \"$*\" in *list*) printf 'a\\nb\\n' ;; esac",
			})
			nodeOf(t, dir)
			hash, err := script(t, dir, nil, "-c", "cd "+dir+" && cat pki/CA/* pki/libvirt/*.pem pki/libvirt/private/* | sha256sum")
			if err != nil {
				t.Fatal(hash)
			}
			write(t, filepath.Join(dir, "tmp/certificates"), hash)
			if !tc.without {
				for _, file := range []string{"ca-cert.pem", "server-cert.pem", "server-key.pem"} {
					write(t, filepath.Join(dir, "pki-vnc", file), "new "+file)
				}
			}
			var log strings.Builder
			for range tc.probes {
				out, err := script(t, dir, []string{"URI=qemu:///system"}, filepath.Join(dir, "libvirt.sh"), "ready")
				if err != nil {
					t.Fatalf("%s\n%v: %s", tc.reason, err, out)
				}
				log.WriteString(out)
			}
			if !strings.Contains(log.String(), tc.log) {
				t.Errorf("%s\nthe log is %q", tc.reason, log.String())
			}
			called, err := os.ReadFile(filepath.Join(dir, "called"))
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for line := range strings.Lines(string(called)) {
				if strings.Contains(line, "server-update-tls") {
					t.Errorf("%s\nlibvirtd reads its own certificate, which has not changed", tc.reason)
				}
				if strings.Contains(line, "list --uuid") || strings.Contains(line, "qemu-monitor-command") {
					got.WriteString(line)
				}
			}
			if diff := cmp.Diff(tc.want, got.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if tc.without {
				return
			}
			rest, err := os.ReadFile(filepath.Join(dir, "tmp/reloads"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.rest, strings.TrimPrefix(string(rest), "\n")); diff != "" {
				t.Errorf("%s\nservers that have not read it (-want +got):\n%s", tc.reason, diff)
			}
			published, err := os.ReadFile(filepath.Join(dir, "run/pki/vnc/server-cert.pem"))
			if err != nil || string(published) != "new server-cert.pem" {
				t.Errorf("%s\nQEMU reads %q, %v", tc.reason, published, err)
			}
		})
	}
}
