package platform

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
)

// functionProgram is the first function of a platform.
const functionProgram = "function"

// endpoints are the addresses of functions by the images of their packages.
type endpoints struct {
	mu sync.Mutex
	at map[string]string
}

func (e *endpoints) set(image, at string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.at == nil {
		e.at = map[string]string{}
	}
	e.at[image] = at
}

// of returns the gRPC target of an image's function, or an empty string.
func (e *endpoints) of(image string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.at[image]
}

// startFunction starts a built function in place of an image.
func (p *Platform) startFunction(program, image string) error {
	ports, err := kubernetes.FreePorts(1)
	if err != nil {
		return err
	}
	if err := p.processes.Start(program, program, nil,
		"--address="+kubernetes.Address(ports[0]), "--tls-certs-dir="+p.crossplane.serverCertificate(), "--metrics-address=",
	); err != nil {
		return err
	}
	at := kubernetes.Address(ports[0])
	if p.Tap != nil {
		if at, err = p.Tap.before(at); err != nil {
			return err
		}
	}
	p.functions.set(image, "dns:///"+at)
	return nil
}

// Upgrade installs another tree of this repository as a later version, as a platform team does: the chart's CRDs, then
// the chart, which installs the packages. It waits until they are healthy. The function of that tree runs next to the
// previous one; Image names it.
func (p *Platform) Upgrade(ctx context.Context, tree, version string) error {
	p.options.Tree = tree
	program := functionProgram + "-" + version
	if err := p.buildProgram(ctx, tree, "functions", program); err != nil {
		return err
	}
	if err := p.startFunction(program, Image(version)); err != nil {
		return err
	}
	p.program = program
	if err := addTree(p.registry, tree, version); err != nil {
		return err
	}
	definitions, err := filepath.Glob(filepath.Join(chartOf(tree), "crds", "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range definitions {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := p.Apply(ctx, data); err != nil {
			return err
		}
	}
	if err := p.helm(ctx, p.Cluster, chartOf(tree), managementValues(version)); err != nil {
		return err
	}
	if err := p.installed(ctx, "Function", functionName, Image(version)); err != nil {
		return err
	}
	return p.installed(ctx, "Configuration", configurationName, project+"/configuration-cobaltcore:"+version)
}

// Image returns the image of the function's package in a version, such as v1.2.3.
func Image(version string) string { return functionImage + ":" + version }

// AddFunction installs the function of this platform's tree once more, as another Function from a separate repository:
// as a platform team does that tests a new version with some control planes first. It returns the image.
func (p *Platform) AddFunction(ctx context.Context, name, version string) (string, error) {
	image := project + "/" + name + ":" + version
	if err := addFunction(p.registry, p.options.Tree, name, version); err != nil {
		return "", err
	}
	program := functionProgram + "-" + name
	if err := p.processes.Link(program, filepath.Join(p.Dir, "bin", p.program)); err != nil {
		return "", err
	}
	if err := p.startFunction(program, image); err != nil {
		return "", err
	}
	if err := p.apply(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pkg.crossplane.io/v1",
		"kind":       "Function",
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"package": image},
	}}); err != nil {
		return "", err
	}
	return image, p.installed(ctx, "Function", name, image)
}

// AddChannel installs a later version of the Configuration, whose Compositions belong to another channel and call
// another Function, as a platform team does that tests a new version with some control planes first.
func (p *Platform) AddChannel(ctx context.Context, version, channel, function string) error {
	configuration, err := configurationOf(p.options.Tree)
	if err != nil {
		return err
	}
	documents := bytes.Split(configuration, []byte("---\n"))
	for i, d := range documents {
		if bytes.Contains(d, []byte("kind: Composition\n")) {
			d = bytes.ReplaceAll(d, []byte("channel: stable\n"), []byte("channel: "+channel+"\n"))
			documents[i] = bytes.ReplaceAll(d, []byte("name: "+functionName+"\n"), []byte("name: "+function+"\n"))
		}
	}
	if err := p.registry.AddPackage("c5c3/configuration-cobaltcore", version, bytes.Join(documents, []byte("---\n"))); err != nil {
		return err
	}
	image := project + "/configuration-cobaltcore:" + version
	if err := p.apply(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pkg.crossplane.io/v1",
		"kind":       "Configuration",
		"metadata":   map[string]any{"name": configurationName},
		"spec":       map[string]any{"package": image},
	}}); err != nil {
		return err
	}
	return p.installed(ctx, "Configuration", configurationName, image)
}

// installed waits until a package is healthy with an image.
func (p *Platform) installed(ctx context.Context, kind, name, image string) error {
	return p.processes.Wait(ctx, kind+" "+image, func(ctx context.Context) (bool, error) {
		u, err := p.Get(ctx, packageKind(kind), types.NamespacedName{Name: name})
		if err != nil || u == nil {
			return false, err
		}
		is, _, _ := unstructured.NestedString(u.Object, "status", "currentIdentifier")
		healthy, _ := ConditionOf(u, "Healthy")
		if is != image || healthy.Status != "True" {
			return false, fmt.Errorf("%s is installed; its conditions are %+v", is, Conditions(u))
		}
		revision, _, _ := unstructured.NestedString(u.Object, "status", "currentRevision")
		r, err := p.Get(ctx, packageKind(kind+"Revision"), types.NamespacedName{Name: revision})
		if err != nil || r == nil {
			return false, err
		}
		of, _, _ := unstructured.NestedString(r.Object, "spec", "image")
		state, _, _ := unstructured.NestedString(r.Object, "spec", "desiredState")
		c, _ := ConditionOf(r, "RevisionHealthy")
		if of != image || state != "Active" || c.Status != "True" {
			return false, fmt.Errorf("the revision %s of %s is %s: %+v", revision, of, state, Conditions(r))
		}
		return true, nil
	})
}

// Calls returns how often Crossplane has called the function of an image.
func (p *Platform) Calls(ctx context.Context, image string) (int, error) {
	at := p.functions.of(image)
	if at == "" {
		return 0, fmt.Errorf("there is no function %s", image)
	}
	return p.metric(ctx, functionCalls, fmt.Sprintf("grpc_target=%q", at))
}

// FunctionCalls returns how often Crossplane has called any function.
func (p *Platform) FunctionCalls(ctx context.Context) (int, error) {
	return p.metric(ctx, functionCalls)
}

// functionCalls is Crossplane's counter of calls.
const functionCalls = "function_run_function_request_total{"
