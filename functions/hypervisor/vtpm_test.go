package hypervisor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestNovaCompute_VTPM verifies that Nova provides TPMs if libvirt on the node emulates them and Barbican stores their passphrases, and
// that nova-compute restarts when this changes.
func TestNovaCompute_VTPM(t *testing.T) {
	const missing = 4294967
	options := func(user, group string) string {
		return fmt.Sprintf("[DEFAULT]\n[libvirt]\nswtpm_enabled = true\nswtpm_user = %s\nswtpm_group = %s\n", user, group)
	}
	name := func(of string) string {
		out, err := exec.CommandContext(t.Context(), "id", of).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	self := strconv.Itoa(os.Getuid())
	for _, tc := range []struct {
		name, reason string
		// unordered: there is no Barbican.
		unordered bool
		// supported is the user of swtpm in libvirt's file. Empty: there is no file. next is the one after the start.
		supported, next string
		want, log       string
		alive           bool
	}{
		{name: "offered", reason: "libvirt has swtpm.", supported: self, next: self, want: options(name("-un"), name("-gn")), alive: true},
		{name: "old pod", reason: "libvirt is of an image without it.", want: "[DEFAULT]\n", alive: true},
		{name: "libvirt replaced", reason: "Its next pod has it.", next: self, want: "[DEFAULT]\n"},
		{name: "taken away", reason: "Its next pod does not have it.", supported: self, want: options(name("-un"), name("-gn"))},
		{name: "no barbican", reason: "Nova could not keep a passphrase.", unordered: true, supported: self, next: self, want: "[DEFAULT]\n", alive: true},
		{
			name: "unknown user", reason: "Nova does not start with a user that the image does not have.", supported: strconv.Itoa(missing),
			next: strconv.Itoa(missing), want: "[DEFAULT]\n", log: "servers get no TPM", alive: true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := stubs(t, map[string]string{"nova-compute": ""})
			login(t, dir)
			file := filepath.Join(dir, "run/vtpm")
			offer := func(user string) {
				t.Helper()
				if user != "" {
					write(t, file, user+"\n")
				} else if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
			}
			offer(tc.supported)
			env := []string{
				"QUEUE_HOST=", "QUEUE_PORT=", "QUEUE_VHOST=", "QUEUE_CA=", "INSTANCES=" + dir + "/instances", "LOGINS=" + dir,
				"STARTED=" + dir + "/started", "TAKEN=" + dir + "/taken", "AGENT=" + dir + "/agent", "HUGE_PAGES=", "CELLS=/none", "RESERVED=" + dir + "/reserved",
				"RESERVE_DISK=", "NODE_IP=10.0.0.1", "INTERFACE=", "DOMAIN=", "LIVE_MIGRATION=", "PROGRAMS=" + dir + "/programs",
				"VTPM_STARTED=" + dir + "/vtpm",
			}
			if !tc.unordered {
				env = append(env, "VTPM="+file)
			}
			out, err := script(t, dir, env, "nova-compute.sh")
			got, e := os.ReadFile(filepath.Join(dir, "reserved"))
			if err := errors.Join(err, e); err != nil || !strings.Contains(out, tc.log) {
				t.Fatalf("%s\n%v: %s", tc.reason, err, out)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			offer(tc.next)
			if out, err := script(t, dir, env, "nova-compute.sh", "alive"); (err == nil) != tc.alive {
				t.Errorf("%s\nit is alive: %v: %s", tc.reason, err, out)
			}
		})
	}
}

// TestLibvirt_VTPM verifies that libvirt provides TPMs if its image has all programs of the emulator, with a certificate authority that
// belongs to the emulator's user.
func TestLibvirt_VTPM(t *testing.T) {
	all := []string{"swtpm", "swtpm_setup", "swtpm_ioctl"}
	for _, tc := range []struct {
		name, reason string
		programs     []string
		// before is the file of a pod before.
		before, want string
	}{
		{"complete", "The image has it.", all, "", "42424\n"},
		{"again", "The previous pod also had it.", all, "42424\n", "42424\n"},
		{"none", "The image does not have it.", nil, "", ""},
		{"no longer", "The previous image had it.", nil, "42424\n", ""},
		{"without swtpm", "The emulator is missing.", all[1:], "42424\n", ""},
		{"without swtpm_setup", "The program that creates the state is missing.", []string{all[0], all[2]}, "42424\n", ""},
		{"without swtpm_ioctl", "The program that stops the emulator is missing.", all[:2], "42424\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			programs := map[string]string{"virt-admin": "", "libvirtd": "", "virsh": "", "chown": "", "chmod": "", "find": ""}
			for _, p := range tc.programs {
				programs[p] = ""
			}
			dir := stubs(t, programs)
			nodeOf(t, dir)
			if tc.before != "" {
				write(t, filepath.Join(dir, "run/vtpm"), tc.before)
			}
			path := withoutPrograms(t, all...) // This machine may have them.
			cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(dir, "libvirt.sh"))
			cmd.Env = []string{"PATH=" + dir + ":" + path, "NODE_IP=10.0.0.1", "INTERFACE=", "URI=qemu:///system", "SWTPM_USER=42424"}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s\n%v: %s", tc.reason, err, out)
			}
			got, err := os.ReadFile(filepath.Join(dir, "run/vtpm"))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			called, err := os.ReadFile(filepath.Join(dir, "called"))
			if err != nil {
				t.Fatal(err)
			}
			const prepare = "chown 42424:42424 /var/lib/swtpm-localca\nchmod 700 /var/lib/swtpm-localca\n" +
				"find /var/log/swtpm -name *-swtpm.log -mtime +30 -delete\n"
			if prepared := strings.Contains(string(called), prepare); prepared != (tc.want != "") {
				t.Errorf("%s\nthe emulator's user has the authority, and old logs go: %t\n%s", tc.reason, prepared, called)
			}
		})
	}
}

// TestVTPM verifies that pods of a pool have the configuration for servers with a TPM, if the control plane and the claim enable it.
func TestVTPM(t *testing.T) {
	const withKeys = "\n    keyManager: {internalURL: \"https://barbican.cloud.svc:9311\"}\n    cells:\n    - name: cell1\n      queue:"
	for _, tc := range []struct {
		name, reason, spec string
		release            release.Release
		excludedLabels     bool
		vtpm, security     string
		state              bool
	}{
		{"2025.2", "Passphrases are their owners' alone.", "", "2025.2", false, "/run/libvirt/vtpm", "", true},
		{"2026.1", "libvirt keeps no passphrase on a disk.", "", "2026.1", false, "/run/libvirt/vtpm", "user,deployment", true},
		{"without a key manager", "Nova has nowhere to keep a passphrase.", "", "2026.1", true, "", "", false},
		{"libvirt of the node", "The operating system has swtpm or not.", "virtualization: {libvirt: {mode: Host}}", "2026.1", false, "", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plane := strings.ReplaceAll(controlPlaneYAML, `"2025.2"`, `"`+string(tc.release)+`"`)
			if !tc.excludedLabels {
				plane = strings.Replace(plane, "\n    cells:\n    - name: cell1\n      queue:", withKeys, 1)
			}
			w := newCluster(more(tc.spec), "tenant-a", objects(strings.ReplaceAll(planeClaim, `"2025.2"`, `"`+string(tc.release)+`"`), plane)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			var security any
			observed := false
			for _, o := range kind.Desired(t, w) {
				data, _ := o["data"].(map[string]any)
				text, ok := data["nova.conf"].(string)
				if !ok {
					continue
				}
				observed = true
				parsed, err := oslo.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				if found := parsed["libvirt"]["supported_tpm_secret_security"]; len(found) > 0 {
					security = strings.Join(found, ",")
				}
			}
			if want := any(tc.security); !observed || security != want && (tc.security != "" || security != nil) {
				t.Errorf("%s\npassphrases may be %v, want %v", tc.reason, security, want)
			}
			set := daemonSetOf(t, w, computeComponent)
			c := set.Spec.Template.Spec.Containers[0]
			env := map[string]string{}
			for _, e := range c.Env {
				env[e.Name] = e.Value
			}
			if env["VTPM"] != tc.vtpm {
				t.Errorf("%s\nnova-compute looks at %q, want %q", tc.reason, env["VTPM"], tc.vtpm)
			}
			got := ""
			for _, v := range set.Spec.Template.Spec.Volumes {
				if v.Name == "vtpm" && v.HostPath != nil {
					got = v.HostPath.Path
				}
			}
			want := ""
			if tc.state {
				want = "/var/lib/cobaltcore/libvirt/swtpm"
			}
			if got != want || mounted(c, "vtpm") != map[bool]string{true: "/var/lib/libvirt/swtpm"}[tc.state] {
				t.Errorf("%s\nthe state of TPMs is %q at %q, want %q", tc.reason, got, mounted(c, "vtpm"), want)
			}
		})
	}
}

// TestVTPM_StateRetained verifies that state, logs and certificates of TPMs, and the UEFI variables in libvirt's folder, are on the node
// and outlive pods.
func TestVTPM_StateRetained(t *testing.T) {
	w, _ := kind.Ready(t, "smallest")
	set := daemonSetOf(t, w, libvirtComponent)
	paths := map[string]string{}
	for _, v := range set.Spec.Template.Spec.Volumes {
		if v.HostPath != nil {
			paths[mounted(set.Spec.Template.Spec.Containers[0], v.Name)] = v.HostPath.Path
		}
	}
	for at, want := range map[string]string{
		"/var/lib/libvirt": "/var/lib/cobaltcore/libvirt", "/var/lib/swtpm-localca": "/var/lib/cobaltcore/swtpm-localca",
		"/var/log/swtpm": "/var/lib/cobaltcore/swtpm-log",
	} {
		if paths[at] != want {
			t.Errorf("%s is %q of the node, want %q", at, paths[at], want)
		}
	}
	if !strings.HasPrefix(vtpmState, "/var/lib/libvirt/") {
		t.Errorf("%s is not in libvirt's folder", vtpmState)
	}
}

func daemonSetOf(t *testing.T, w *simulate.Cluster, name string) (out appsv1.DaemonSet) {
	t.Helper()
	o, ok := kind.Desired(t, w)[name]
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// mounted returns where a container has a volume, and "" where it does not.
func mounted(c corev1.Container, volume string) string {
	for _, m := range c.VolumeMounts {
		if m.Name == volume {
			return m.MountPath
		}
	}
	return ""
}
