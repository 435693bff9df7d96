package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/process"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/registry"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/platform/operators"
)

var zeroTime metav1.Time

// Options configure a platform. The zero value is valid.
type Options struct {
	// Dir is the folder of all files of the platform. Files of an earlier platform in it are removed. Empty: platform
	// in the cache folder ($COBALTCORE_CACHE, by default ~/.cache/cobaltcore).
	Dir string
	// Root is the folder of this repository. Empty: the one around the working directory.
	Root string
	// Tree is the folder of the repository whose packages, chart and function are installed. Empty: Root.
	Tree string
	// Core is the tool of hack/tools with Crossplane's core. Empty: crossplane-core, the oldest supported one.
	Core string
	// CrossplaneArgs are flags of Crossplane's core, after those recommended in docs/install.md.
	CrossplaneArgs []string
	// Packages is a folder that `make package` made, whose packages and chart are installed. Empty: packages are made of this
	// tree, which takes no time.
	Packages string
	// PlatformConfig is a YAML document with the platform's decisions. Empty: examples/platform/platformconfig.yaml.
	PlatformConfig []byte
	// Remote is the name of a second cluster for workloads, which the PlatformConfig has to offer. Empty: there is
	// none.
	Remote string
	// FakeCompanion fakes the companion instead of running it: with many control planes, one process for each is too
	// much.
	FakeCompanion bool
	// Tap enables Platform.Tap, which records the calls of functions.
	Tap bool
	// Audit makes the API server of the management cluster record its requests, for Requests.
	Audit bool
	// Timeout is the maximum duration of the start, without building tools the first time. 0: five minutes.
	Timeout time.Duration
	// Progress gets a line for each step. Nil: nothing does.
	Progress io.Writer
}

// startTimeout is generous: a start takes 15 seconds where nothing else runs.
const startTimeout = 5 * time.Minute

// Platform is a management cluster with Crossplane and this project, and its optional remote cluster.
type Platform struct {
	// Cluster is the management cluster.
	*Cluster
	// Remote is the cluster for workloads of Options.Remote, or nil.
	Remote *Cluster
	// Operators are the fakes of the management cluster, RemoteOperators the fakes of the remote one.
	Operators, RemoteOperators *operators.Operators
	// Tap records the calls of functions if Options.Tap is set, or is nil.
	Tap *FunctionRecorder
	// Store is the store of External Secrets, in both clusters.
	Store operators.Store
	// Dir is the folder of everything that the platform writes.
	Dir string

	options    Options
	crossplane *crossplane
	foreign    []*unstructured.Unstructured // definitions of other projects
	background context.Context              //nolint:containedctx // Fakes of clusters that come later end with those of the first.
	processes  *process.Group
	registry   *registry.Registry
	functions  endpoints
	added      []string // clusters that came later
	program    string   // the function that was built of the tree last
	lock       *os.File
	log        *os.File // of the fakes
	end        context.CancelFunc
	started    time.Time
}

// Start starts a platform and waits until it accepts claims. When the context ends before that, or anything fails, no
// process keeps running; afterwards only Stop stops it. An error names the missing or failed component, with the end of
// its log.
func Start(ctx context.Context, options Options) (_ *Platform, err error) {
	p, err := prepare(ctx, options)
	if err != nil {
		return nil, err
	}
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	p.end = end
	defer func() {
		if err != nil {
			p.Stop()
		}
	}()
	if err := build(ctx, p.options.Root, p.options.Core, p.processes, p.options.Progress); err != nil {
		return nil, err
	}
	p.started = time.Now() // without steps that are done only once
	ctx, cancel := stopwatch.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	return p, p.start(ctx, background)
}

// prepare prepares the folder.
func prepare(ctx context.Context, o Options) (*Platform, error) {
	var err error
	if o.Root == "" {
		if o.Root, err = findRoot(); err != nil {
			return nil, err
		}
	}
	if o.Tree == "" {
		o.Tree = o.Root
	}
	if o.Core == "" {
		o.Core = defaultCore
	}
	if o.Dir == "" {
		cache, err := CacheDir()
		if err != nil {
			return nil, err
		}
		o.Dir = filepath.Join(cache, "platform")
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = startTimeout
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.PlatformConfig == nil {
		if o.PlatformConfig, err = os.ReadFile(filepath.Join(o.Tree, "examples", "platform", "platformconfig.yaml")); err != nil {
			return nil, err
		}
	}
	lock, err := occupy(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	p := &Platform{Dir: o.Dir, options: o, lock: lock, processes: &process.Group{Dir: o.Dir}}
	if p.log, err = os.Create(filepath.Join(o.Dir, "operators.log")); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return p, nil
}

// Stop stops all processes of the platform. Logs are kept until the next platform in the same folder starts. It may be
// called more than once.
func (p *Platform) Stop() {
	p.end()
	p.Tap.stop()
	p.processes.Stop()
	p.registry.Close()
	_ = os.RemoveAll(filepath.Join(p.Dir, "management", "etcd"))
	_ = os.RemoveAll(filepath.Join(p.Dir, "remote", "etcd"))
	for _, name := range p.added {
		_ = os.RemoveAll(filepath.Join(p.Dir, name, "etcd"))
	}
	_ = p.lock.Close()
}

func (p *Platform) logf(name string) {
	fmt.Fprintf(p.options.Progress, "%5.1f s  %s\n", time.Since(p.started).Seconds(), name)
}

// start starts a built platform. The fakes run until background ends.
func (p *Platform) start(ctx, background context.Context) (err error) {
	var (
		o        = p.options
		provider string // folder of its module
		x        = &crossplane{args: slices.Concat(recommended, o.CrossplaneArgs)}
		chart    []*unstructured.Unstructured
	)
	if p.Cluster, err = startCluster("management", filepath.Join(p.Dir, "management"), o.Audit, p.processes); err != nil {
		return err
	}
	x.Cluster, p.crossplane, p.background = p.Cluster, x, background
	if o.Tap {
		p.Tap = &FunctionRecorder{asFunction: x.serverCertificate(), asCrossplane: x.File("crossplane/client")}
	}
	if o.Remote != "" {
		if p.Remote, err = startCluster(o.Remote, filepath.Join(p.Dir, "remote"), false, p.processes); err != nil {
			return err
		}
	}
	if err := together(ctx,
		func(ctx context.Context) error { return p.serving(ctx) },
		func(ctx context.Context) error { return p.remote(ctx) },
		func(ctx context.Context) error { return p.buildProgram(ctx, o.Tree, "functions", functionProgram) },
		func(ctx context.Context) error { return p.buildCompanion(ctx) },
		func(ctx context.Context) (err error) {
			provider, err = source(ctx, o.Root, "provider-kubernetes", providerModule)
			return err
		},
		func(ctx context.Context) (err error) {
			if x.source, err = source(ctx, o.Root, o.Core, crossplaneModule); err != nil {
				return err
			}
			chart, err = p.template(ctx, "crossplane", filepath.Join(x.source, "cluster", "charts", "crossplane"))
			return err
		},
		func(ctx context.Context) (err error) {
			p.foreign, err = thirdParty(ctx)
			return err
		},
	); err != nil {
		return err
	}
	p.logf("Kubernetes serves")
	if err := together(ctx,
		func(ctx context.Context) error { return x.start(ctx, chart) },
		func(ctx context.Context) error { return p.define(ctx, p.foreign) },
		func(ctx context.Context) error { return p.defineRemote(ctx, p.foreign) },
	); err != nil {
		return err
	}
	p.logf("Crossplane runs, the kinds of other projects are installed")
	if err := p.install(ctx, background, x, provider); err != nil {
		return fmt.Errorf("%w%s", err, p.processes.Logs(4, "crossplane", "crossplane-rbac", "function"))
	}
	return nil
}

// Log returns the end of a log of the platform: of a process, by the name of its log, or of "operators".
func (p *Platform) Log(name string, lines int) string {
	if name == "operators" {
		return process.Tail(filepath.Join(p.Dir, "operators.log"), lines)
	}
	return process.Tail(filepath.Join(p.Dir, "logs", name+".log"), lines)
}

// Suspend stops a process of the platform, by the name of its log, as if its pod did not run. The returned function continues it.
func (p *Platform) Suspend(name string) (resume func() error, err error) {
	return func() error { return p.processes.Signal(name, syscall.SIGCONT) }, p.processes.Signal(name, syscall.SIGSTOP)
}

// Kubectl runs kubectl in the management cluster, as its administrator, and returns its output.
func (p *Platform) Kubectl(ctx context.Context, args ...string) ([]byte, error) {
	cache := filepath.Join(p.Dir, "kubectl")
	return p.processes.Run(ctx, "kubectl", []string{env("KUBECONFIG", p.Kubeconfig), env("KUBECACHEDIR", cache)}, args...)
}

// together runs functions in parallel and waits for all. The first error cancels the others.
func together(ctx context.Context, starts ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	failed := make(chan error)
	for _, start := range starts {
		go func() { failed <- start(ctx) }()
	}
	var first error
	for range starts {
		if err := <-failed; err != nil && first == nil {
			first = err
			cancel(err)
		}
	}
	return first
}
