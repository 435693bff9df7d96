//go:build platform

package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/externalsecrets"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/process"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
)

const (
	namespace = "cloud"
	// storeName is the ClusterSecretStore, engine where Vault's key-value store is.
	storeName, storeKind = "store", "ClusterSecretStore"
	engine               = "kv"
)

// suite contains an API, External Secrets and Vault.
type suite struct {
	t         *testing.T
	api       client.Client
	config    *rest.Config
	scheme    *runtime.Scheme
	processes *process.Group
	// vault is its address, token one that may do everything.
	vault, token string
}

func start(t *testing.T) *suite {
	t.Helper()
	w := &suite{t: t, processes: &process.Group{Dir: t.TempDir()}, scheme: runtime.NewScheme()}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.processes.Logs(20, "vault", "external-secrets"))
		}
		w.processes.Stop()
	})
	module := w.programs()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, openstackv1.AddToScheme, apiextensionsv1.AddToScheme} {
		w.must(add(w.scheme))
	}
	api, err := kubernetes.Start("it", t.TempDir(), w.processes, "--disable-admission-plugins=ServiceAccount")
	w.must(err)
	ctx, cancel := stopwatch.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	w.must(api.Serve(ctx, "garbage-collector-controller"))
	w.config = api.Config
	w.api, err = client.New(api.Config, client.Options{Scheme: w.scheme})
	w.must(err)
	definitions, err := filepath.Glob(filepath.Join(module, "config", "crds", "bases", "*.yaml"))
	w.must(err)
	for _, file := range append(definitions, "../../apis/openstack/crd.yaml") {
		w.define(file)
	}
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})

	ports, err := kubernetes.FreePorts(3)
	w.must(err)
	w.startVault(ctx, kubernetes.Address(ports[0]))
	w.must(w.processes.Start("external-secrets", "external-secrets", []string{"KUBECONFIG=" + api.Kubeconfig},
		"--metrics-addr="+kubernetes.Address(ports[1]), "--live-addr="+kubernetes.Address(ports[2]), "--enable-leader-election=false"))
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "vault", Namespace: namespace}, StringData: map[string]string{"token": w.token}})
	w.create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "external-secrets.io/v1", "kind": storeKind, "metadata": map[string]any{"name": storeName},
		"spec": map[string]any{"provider": map[string]any{"vault": map[string]any{
			"server": w.vault, "path": engine, "version": "v2",
			"auth": map[string]any{"tokenSecretRef": map[string]any{"name": "vault", "key": "token", "namespace": namespace}},
		}}},
	}})
	return w
}

// programs registers the programs, and returns the folder of External Secrets' module.
func (w *suite) programs() string {
	w.t.Helper()
	build := exec.Command("../../hack/tools/build.sh", "kubernetes", "vault")
	build.Stderr = os.Stderr
	out, err := build.Output()
	w.must(err)
	built := strings.Fields(string(out))
	cache := filepath.Dir(filepath.Dir(built[0]))
	folder := filepath.Join(cache, "node") // as test/node, which it is built once with
	w.must(os.MkdirAll(filepath.Join(folder, "bin"), 0o755))
	module, program, err := externalsecrets.Build(w.t.Context(), folder, os.Stderr)
	w.must(err)
	for name, path := range map[string]string{
		"etcd": built[0], "kube-apiserver": built[0], "kube-controller-manager": built[0], "vault": built[1], "external-secrets": program,
	} {
		w.must(w.processes.Link(name, path))
	}
	return module
}

// startVault starts Vault, with an empty key-value store.
func (w *suite) startVault(ctx context.Context, address string) {
	w.t.Helper()
	w.must(w.processes.Start("vault", "vault", nil, address))
	w.vault = "http://" + address
	w.must(w.processes.Wait(ctx, "Vault", func(context.Context) (bool, error) {
		log, err := os.ReadFile(filepath.Join(w.processes.Dir, "logs", "vault.log"))
		if err != nil {
			return false, err
		}
		for line := range strings.Lines(string(log)) {
			if token := strings.TrimSpace(line); strings.HasPrefix(token, "hvs.") {
				w.token = token
				code, _ := w.request(http.MethodGet, "sys/health", nil)
				return code == http.StatusOK, nil
			}
		}
		return false, nil
	}))
	body := map[string]any{"type": "kv", "options": map[string]any{"version": "2"}}
	if code, answer := w.request(http.MethodPost, "sys/mounts/"+engine, body); code != http.StatusNoContent {
		w.t.Fatalf("cannot mount the key-value store: %d %s", code, answer)
	}
}

// request sends a request to Vault.
func (w *suite) request(method, path string, body any) (int, []byte) {
	w.t.Helper()
	var data bytes.Buffer
	if body != nil {
		w.must(json.NewEncoder(&data).Encode(body))
	}
	req, err := http.NewRequest(method, w.vault+"/v1/"+path, &data)
	w.must(err)
	req.Header.Set("X-Vault-Token", w.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	w.must(err)
	return resp.StatusCode, answer
}

// entry returns an entry of Vault; nil if there is none.
func (w *suite) entry(path string) map[string]string {
	w.t.Helper()
	code, answer := w.request(http.MethodGet, engine+"/data/"+path, nil)
	var out struct {
		Data struct {
			Data map[string]string `json:"data"`
		} `json:"data"`
	}
	if code != http.StatusOK {
		return nil
	}
	w.must(json.Unmarshal(answer, &out))
	return out.Data.Data
}

// secret returns the data of a Secret; nil if there is none.
func (w *suite) secret(name string) map[string]string {
	w.t.Helper()
	s := &corev1.Secret{}
	err := w.api.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, s)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.must(err)
	out := map[string]string{}
	for k, v := range s.Data {
		out[k] = string(v)
	}
	return out
}

// eventually waits for a condition, at most three minutes.
func (w *suite) eventually(description string, holds func() bool) {
	w.t.Helper()
	ctx, cancel := stopwatch.WithTimeout(w.t.Context(), 3*time.Minute)
	defer cancel()
	w.must(w.processes.Wait(ctx, description, func(context.Context) (bool, error) { return holds(), nil }))
}

// define creates the CRDs of a file.
func (w *suite) define(file string) {
	w.t.Helper()
	f, err := os.Open(file)
	w.must(err)
	defer f.Close()
	for d := utilyaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := d.Decode(crd); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			w.t.Fatal(fmt.Errorf("cannot read %s: %w", file, err))
		}
		if crd.Kind != "CustomResourceDefinition" {
			continue
		}
		crd.Spec.Conversion = nil // by a webhook of External Secrets, for versions that are not used
		w.create(crd)
		w.eventually(crd.Name, func() bool {
			w.must(w.api.Get(w.t.Context(), client.ObjectKeyFromObject(crd), crd))
			for _, c := range crd.Status.Conditions {
				if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
					return true
				}
			}
			return false
		})
	}
}

func (w *suite) create(o client.Object) {
	w.t.Helper()
	// Kinds that have just been made known are not in every answer of the API yet.
	w.eventually("create "+o.GetName(), func() bool {
		err := w.api.Create(w.t.Context(), o)
		if meta.IsNoMatchError(err) {
			return false
		}
		w.must(err)
		return true
	})
}

func (w *suite) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
