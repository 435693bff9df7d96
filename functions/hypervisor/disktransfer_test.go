package hypervisor

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	transferDomain = "pool.pod"
	transferServer = "3f0f7a4e-7f5b-4c53-9a39-0d2b5a1f0c11"
	transferBase   = "77de68daecd823babbb58edb1c8e14d7106e83bb"
)

// transferPool is the authority of a pool.
type transferPool struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newTransferPool(t *testing.T) transferPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return transferPool{certificate, key}
}

// issue returns a folder with a certificate for a common name and DNS names, as the Secret of a pod has it.
func (p transferPool) issue(t *testing.T, commonName string, hosts ...string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: commonName}, DNSNames: hosts, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, p.certificate, key.Public(), p.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{
		"ca.crt":  {Type: "CERTIFICATE", Bytes: p.certificate.Raw},
		"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		write(t, filepath.Join(dir, name), string(pem.EncodeToMemory(block)))
	}
	return dir
}

// transferNode is a node with a server.
type transferNode struct {
	t         *testing.T
	env       []string
	instances string
	port      int
	tls       string
	process   *os.Process
	done      chan error
}

// newTransferNode starts the server of a node at 127.0.0.2. Both ends have the same folder of instances in their variables, as in a pool,
// so that the tests name paths below it: a path of the client's node is another folder.
func newTransferNode(t *testing.T, folder string) *transferNode {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	n := &transferNode{t: t, instances: filepath.Join(t.TempDir(), "instances"), port: port, tls: folder, done: make(chan error, 1)}
	if err := os.MkdirAll(filepath.Join(n.instances, "_base"), 0o755); err != nil {
		t.Fatal(err)
	}
	n.env = append(os.Environ(),
		"INSTANCES="+n.instances, "TLS="+folder, "PEER=pool", "DOMAIN="+transferDomain, fmt.Sprintf("PORT=%d", port), "SERVICE=127.0.0.2",
		"NODE_NAME=node-2", "NODE_IP=127.0.0.2", "INTERFACE=")
	server := exec.CommandContext(t.Context(), "sh", "disk-transfer.sh")
	server.Env, server.Stderr = n.env, t.Output()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	n.process = server.Process
	go func() { n.done <- server.Wait() }()
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.2:%d", port))
		if err == nil {
			if err := connection.Close(); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if time.Since(start) > time.Minute {
			t.Fatal(err)
		}
	}
}

// run runs a program as Nova does on another node, whose certificate is in a folder.
func (n *transferNode) run(folder string, arguments ...string) (string, error) {
	command := exec.CommandContext(n.t.Context(), "python3", append([]string{"-I", "disk-transfer.py"}, arguments...)...)
	command.Env = append(slices.Clone(n.env), "TLS="+folder)
	out, err := command.CombinedOutput()
	return string(out), err
}

func (n *transferNode) path(parts ...string) string {
	return filepath.Join(append([]string{n.instances}, parts...)...)
}

// TestDiskTransfer verifies that each command of Nova's SshDriver and copy_image changes only the target node.
func TestDiskTransfer(t *testing.T) {
	pool := newTransferPool(t)
	folder := pool.issue(t, "pool", "*."+transferDomain)
	n := newTransferNode(t, folder)
	const node = "127-0-0-2." + transferDomain
	server := n.path(transferServer)

	source := filepath.Join(t.TempDir(), "disk")
	disk, err := os.Create(source)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("block of the guest "), 100_000)
	const size, at = 64 << 20, 32 << 20
	if _, err := disk.WriteAt(want, at); err != nil {
		t.Fatal(err)
	}
	if err := errorsOf(disk.Truncate(size), disk.Close()); err != nil {
		t.Fatal(err)
	}
	vtpm := filepath.Join(t.TempDir(), "swtpm")
	state := filepath.Join("swtpm", transferServer, "tpm2", "tpm2-00.permall")
	if err := os.MkdirAll(filepath.Join(vtpm, transferServer, "tpm2"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(vtpm, transferServer, "tpm2", "tpm2-00.permall"), "sealed")
	write(t, filepath.Join(vtpm, transferServer, "tpm2", ".lock"), "")
	write(t, n.path("_base", transferBase), "image")
	cached := filepath.Join(t.TempDir(), "image")

	ssh := func(command ...string) []string {
		return append([]string{"ssh", "-o", "BatchMode=yes", node}, command...)
	}
	for _, step := range []struct {
		reason    string
		arguments []string
		want      []string
		wantErr   string
	}{
		{"a server that the node does not have", ssh("touch", server+"/a.tmp"), nil, "No such file"},
		{"the folder of a server", ssh("mkdir", "-p", server), []string{"."}, ""},
		{"it exists already", ssh("mkdir", "-p", server), []string{"."}, ""},
		{"a file by which Nova looks whether nodes share a folder", ssh("touch", server+"/a.tmp"), []string{".", "a.tmp"}, ""},
		{"that file is removed", ssh("rm", server+"/a.tmp"), []string{"."}, ""},
		{"a disk", []string{"scp", "-r", source, node + ":" + server + "/disk"}, []string{".", "disk"}, ""},
		{"a disk again, with compression", []string{"scp", "-C", "-r", source, node + ":" + server + "/disk"}, []string{".", "disk"}, ""},
		{"the state of a vTPM, which is a folder, without the lock of its emulator", []string{"scp", "-C", "-r", vtpm, node + ":" + server}, []string{
			".", "disk", "swtpm", "swtpm/" + transferServer, "swtpm/" + transferServer + "/tpm2", state,
		}, ""},
		{"a cached image, of a node that is named as Kubernetes does", []string{
			"scp", "-C", "-r", "node-2:" + n.path("_base", transferBase), cached,
		}, []string{".", "disk", "swtpm", "swtpm/" + transferServer, "swtpm/" + transferServer + "/tpm2", state}, ""},
		{"a cached image of a node that is not there", []string{
			"scp", "-r", "node-3:" + n.path("_base", transferBase), cached,
		}, []string{".", "disk", "swtpm", "swtpm/" + transferServer, "swtpm/" + transferServer + "/tpm2", state}, "no node of the pool is called node-3"},
		{"a file that is not there", []string{"scp", "-r", source + "x", node + ":" + server + "/y"}, []string{
			".", "disk", "swtpm", "swtpm/" + transferServer, "swtpm/" + transferServer + "/tpm2", state,
		}, "No such file"},
		{"a disk is gone once its server is", ssh("rm", "-rf", server), nil, ""},
		{"and is gone", ssh("rm", "-rf", server), nil, ""},
		{"a shell", ssh("sh", "-c", "id"), nil, "nodes do not run"},
		{"a command with one more argument", ssh("rm", "-rf", server, "/etc"), nil, "nodes do not run"},
		{"a log-in", []string{"ssh", node}, nil, "this is no shell"},
		{"the probe of the pod", []string{"ready"}, nil, "LISTEN"},
	} {
		if step.arguments[0] == "ready" {
			if out, err := script(t, "", n.env, "disk-transfer.sh", "ready"); err != nil {
				t.Errorf("%s: %v: %s", step.reason, err, out)
			}
			continue
		}
		out, err := n.run(folder, step.arguments...)
		if failed := err != nil; failed != (step.wantErr != "") || !strings.Contains(out, step.wantErr) {
			t.Errorf("%s: %v: %s", step.reason, err, out)
		}
		if diff := cmp.Diff(step.want, tree(t, server)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.reason, diff)
		}
		if step.arguments[0] != "scp" || step.arguments[len(step.arguments)-1] != node+":"+server+"/disk" {
			continue
		}
		got, err := os.ReadFile(filepath.Join(server, "disk"))
		if err != nil || len(got) != size || !bytes.Equal(got[at:at+len(want)], want) || bytes.Count(got[:at], []byte{0}) != at {
			t.Errorf("%s: the disk is not the same: %v, %d bytes", step.reason, err, len(got))
		}
		info, err := os.Stat(filepath.Join(server, "disk"))
		if err != nil {
			t.Fatal(err)
		}
		if blocks := info.Sys().(*syscall.Stat_t).Blocks; blocks*512 > 2*int64(len(want)) {
			t.Errorf("%s: holes were filled: %d blocks", step.reason, blocks)
		}
	}
	if got, err := os.ReadFile(cached); err != nil || string(got) != "image" {
		t.Errorf("the cached image: %v: %s", err, got)
	}
}

// TestDiskTransfer_RestrictsPeers verifies that a malicious peer can access only the paths that Nova needs.
func TestDiskTransfer_RestrictsPeers(t *testing.T) {
	pool, other := newTransferPool(t), newTransferPool(t)
	folder := pool.issue(t, "pool", "*."+transferDomain)
	n := newTransferNode(t, folder)
	server := n.path(transferServer)
	if err := os.MkdirAll(server, 0o755); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	write(t, filepath.Join(outside, "kept"), "kept")
	write(t, filepath.Join(server, "disk"), "disk")
	write(t, n.path("_base", transferBase), "image")
	if err := errorsOf(os.Symlink(outside, filepath.Join(server, "link")), os.Symlink(filepath.Join(outside, "kept"), filepath.Join(server, "kernel")),
		os.Symlink(outside, n.path("11111111-7f5b-4c53-9a39-0d2b5a1f0c11"))); err != nil {
		t.Fatal(err)
	}
	before := tree(t, n.instances)
	for name, tc := range map[string]struct {
		reason, operation, path string
	}{
		"up":             {"A path must not leave the folder.", "put", server + "/../../outside"},
		"up to _base":    {"Base images back the disks of many servers.", "put", server + "/../_base/" + transferBase},
		"elsewhere":      {"Nothing else of the node is reached.", "put", "/etc/passwd"},
		"prefix":         {"A sibling folder has the same beginning.", "mkdir", n.instances + "-other/" + transferServer},
		"instances":      {"All disks of the node would be gone.", "rmdir", n.instances},
		"instances dot":  {"All disks of the node would be gone.", "rmdir", n.instances + "/."},
		"_base":          {"Base images back the disks of many servers.", "rmdir", n.path("_base")},
		"a base image":   {"Base images back the disks of many servers.", "put", n.path("_base", transferBase)},
		"no server":      {"Only folders of servers are made.", "mkdir", n.path("other")},
		"a server":       {"A file must not take the place of a folder.", "put", server},
		"empty name":     {"A path has no empty name.", "put", server + "//disk"},
		"hidden":         {"Files of an active transfer have such names.", "put", server + "/.disk.part"},
		"new line":       {"Logs are lines.", "put", server + "/disk\nput"},
		"deep":           {"No file of a server is that deep.", "mkdir", server + "/a/b/c/d/e/f"},
		"link":           {"A link leads out of the folder.", "put", server + "/link/kept"},
		"link of server": {"A link leads out of the folder.", "put", n.path("11111111-7f5b-4c53-9a39-0d2b5a1f0c11", "kept")},
		"remove by link": {"A link leads out of the folder.", "rm", server + "/link/kept"},
		"tree by link":   {"A link leads out of the folder.", "rmdir", n.path("11111111-7f5b-4c53-9a39-0d2b5a1f0c11")},
		"folder as file": {"A folder is removed as such.", "rm", server},
		"read a disk":    {"Disks are sent by their own node only.", "get", server + "/disk"},
		"read a link":    {"A link leads out of the folder.", "get", server + "/kernel"},
		"other path":     {"Other files of the node cannot be read.", "get", "/etc/passwd"},
		"read up":        {"Nothing else of the node is read.", "get", n.path("_base") + "/../" + transferServer + "/disk"},
		"read a folder":  {"Only files are read.", "get", n.path("_base")},
		"shell":          {"There are no other operations.", "exec", server},
		"no path":        {"The path is required.", "rmdir", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if answer, err := n.request(folder, tc.operation, tc.path); err != nil || answer["error"] == nil {
				t.Errorf("%s Response %v, %v", tc.reason, answer, err)
			}
			if diff := cmp.Diff(before, tree(t, n.instances)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	for name, folder := range map[string]string{
		"key of another pool":             other.issue(t, "pool", "*."+transferDomain),
		"another name by the same signer": pool.issue(t, "other", "*."+transferDomain),
		"no certificate":                  "",
	} {
		t.Run(name, func(t *testing.T) {
			if answer, err := n.request(folder, "rmdir", server); err == nil {
				t.Errorf("response %v", answer)
			}
			if diff := cmp.Diff(before, tree(t, n.instances)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("server with the key of another pool", func(t *testing.T) {
		stranger := newTransferNode(t, other.issue(t, "pool", "*."+transferDomain))
		out, err := stranger.run(folder, "ssh", "-o", "BatchMode=yes", "127-0-0-2."+transferDomain, "mkdir", "-p", stranger.path(transferServer))
		if err == nil || !strings.Contains(out, "certificate verify failed") {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("server with the name of another node", func(t *testing.T) {
		stranger := newTransferNode(t, pool.issue(t, "pool", "127-0-0-9."+transferDomain))
		out, err := stranger.run(folder, "ssh", "-o", "BatchMode=yes", "127-0-0-2."+transferDomain, "mkdir", "-p", stranger.path(transferServer))
		if err == nil || !strings.Contains(out, "Hostname mismatch") {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("authority that was replaced", func(t *testing.T) {
		revoked := pool.issue(t, "pool", "*."+transferDomain)
		next := other.issue(t, "pool", "*."+transferDomain)
		for _, file := range []string{"ca.crt", "tls.crt", "tls.key"} {
			data, err := os.ReadFile(filepath.Join(next, file))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(folder, file), string(data))
		}
		if answer, err := n.request(revoked, "hello", ""); err == nil {
			t.Errorf("a previous key is accepted: %v", answer)
		}
		if answer, err := n.request(folder, "hello", ""); err != nil || answer["node"] != "node-2" {
			t.Errorf("the next key does not open the node: %v, %v", answer, err)
		}
	})
}

// TestDiskTransfer_Impostor verifies that a node which pretends to be another one by its name gets no disks and sends no images, and that a
// pool whose nodes share a certificate keeps working.
func TestDiskTransfer_Impostor(t *testing.T) {
	const address = "127-0-0-2." + transferDomain
	pool := newTransferPool(t)
	client := pool.issue(t, "pool", "127-0-0-1."+transferDomain, "node-1")
	for name, tc := range map[string]struct {
		reason string
		hosts  []string
		want   string
	}{
		"own":      {reason: "The server has the certificate of its node.", hosts: []string{address, "node-2"}},
		"shared":   {reason: "Nodes of an earlier version have one certificate.", hosts: []string{"*." + transferDomain}},
		"impostor": {"It is node-3, and replies that it is node-2.", []string{address, "node-3"}, "no node of the pool is called node-2"},
		"greedy":   {"A wildcard beside another name is none of ours.", []string{"*." + transferDomain, "node-3"}, "no node of the pool is called node-2"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTransferNode(t, pool.issue(t, "pool", tc.hosts...))
			write(t, n.path("_base", transferBase), "image")
			out, err := n.run(client, "scp", "-C", "-r", "node-2:"+n.path("_base", transferBase), filepath.Join(t.TempDir(), "image"))
			if (err == nil) != (tc.want == "") || !strings.Contains(out, tc.want) {
				t.Errorf("%s\n%v: %s", tc.reason, err, out)
			}
		})
	}
}

// TestDiskTransfer_Interrupted verifies that a file has its final name only when it is complete, and that a terminating server completes
// active transfers.
func TestDiskTransfer_Interrupted(t *testing.T) {
	folder := newTransferPool(t).issue(t, "pool", "*."+transferDomain)
	n := newTransferNode(t, folder)
	server := n.path(transferServer)
	if err := os.MkdirAll(server, 0o755); err != nil {
		t.Fatal(err)
	}
	dial := func() *tls.Conn {
		connection, err := n.connect(folder)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := exchange(connection, map[string]string{"operation": "put", "path": server + "/disk"})
		if err != nil || answer["go"] != true {
			t.Fatal(answer, err)
		}
		segment := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 0), 4)
		if _, err := connection.Write(append(segment, "half"...)); err != nil {
			t.Fatal(err)
		}
		return connection
	}
	interrupted := dial()
	if err := interrupted.Close(); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); len(tree(t, server)) > 1; time.Sleep(20 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatal(tree(t, server))
		}
	}
	connection := dial()
	if err := n.process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		late, err := net.Dial("tcp", fmt.Sprintf("127.0.0.2:%d", n.port))
		if err != nil {
			break
		}
		if err := late.Close(); err != nil {
			t.Fatal(err)
		}
		if time.Since(start) > time.Minute {
			t.Fatal("it accepts connections after it was terminated")
		}
	}
	if _, err := connection.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 4), 0)); err != nil {
		t.Fatal(err)
	}
	if answer, err := receiveAnswer(connection); err != nil || answer["done"] != true {
		t.Fatal(answer, err)
	}
	if got, err := os.ReadFile(filepath.Join(server, "disk")); err != nil || string(got) != "half" {
		t.Errorf("%v: %q", err, got)
	}
	if err := <-n.done; err != nil {
		t.Error(err)
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// tree returns the paths below a folder, or nil if the folder does not exist.
func tree(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		out = append(out, relative)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return out
}

// connect opens a connection with the certificate of a folder, without verifying the server. Empty: without a certificate.
func (n *transferNode) connect(folder string) (*tls.Conn, error) {
	settings := &tls.Config{InsecureSkipVerify: true}
	if folder != "" {
		pair, err := tls.LoadX509KeyPair(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
		if err != nil {
			return nil, err
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	connection, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.2:%d", n.port), settings)
	if err != nil {
		return nil, err
	}
	return connection, connection.SetDeadline(time.Now().Add(time.Minute))
}

// request sends one request and returns the first answer.
func (n *transferNode) request(folder, operation, path string) (answer map[string]any, err error) {
	connection, err := n.connect(folder)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := connection.Close(); err == nil && e != nil {
			err = e
		}
	}()
	return exchange(connection, map[string]string{"operation": operation, "path": path})
}

func exchange(connection io.ReadWriter, message any) (map[string]any, error) {
	data, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	if _, err := connection.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(data))), data...)); err != nil {
		return nil, err
	}
	return receiveAnswer(connection)
}

func receiveAnswer(connection io.Reader) (map[string]any, error) {
	var length uint16
	if err := binary.Read(connection, binary.BigEndian, &length); err != nil {
		return nil, err
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(connection, data); err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(data, &out)
}
