//go:build linux

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// keep runs a container, repeatedly if the pod is to be restarted. Pods of Jobs are not: a Job has further pods.
func (p *pod) keep(ctx context.Context, i int) {
	container := &p.object.Spec.Containers[i]
	for {
		c, err := p.launch(ctx, container, i+1)
		code := 128
		if err != nil {
			fmt.Fprintln(p.cluster.Progress, "cluster:", err)
		} else {
			code = c.ExitCode()
		}
		if p.stopping.Load() || !p.restarts() {
			p.mu.Lock()
			p.exit[container.Name] = code
			p.mu.Unlock()
			return
		}
		p.ready.Store(false)
		fmt.Fprintf(p.cluster.Progress, "cluster: container %s of pod %s ended with %d; the end of its log:\n%s\n",
			container.Name, p.object.Name, code, p.tail(15))
		if p.wait(restartPause) {
			return
		}
	}
}

// restarts reports whether containers that end are restarted.
func (p *pod) restarts() bool {
	policy := p.object.Spec.RestartPolicy
	return policy == "" || policy == corev1.RestartPolicyAlways
}

// launch starts a container as the i-th of the pod.
func (p *pod) launch(ctx context.Context, container *corev1.Container, i int) (*sandbox.Container, error) {
	spec, err := p.spec(ctx, container)
	if err != nil {
		return nil, err
	}
	path := p.cluster.Log(p.object.Namespace, p.object.Name, container.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the container has it
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping.Load() {
		return nil, fmt.Errorf("pod %s is being stopped", p.object.Name)
	}
	spec.Network = cmp.Or(p.shares, p.containers[0].PID())
	if p.among != 0 {
		// Orphans of such a container do not end with its processes, but with its control group.
		spec.Processes, spec.ControlGroup = p.among, filepath.Join(p.group, fmt.Sprintf("%s-%d", container.Name, numbers.Add(1)))
	}
	c, err := sandbox.Start(spec, log)
	if err != nil {
		return nil, err
	}
	p.containers[i] = c
	return c, nil
}

// spec returns the sandbox's definition of a container.
func (p *pod) spec(ctx context.Context, container *corev1.Container) (sandbox.Spec, error) {
	image, err := p.cluster.Images(container.Image)
	if err != nil {
		return sandbox.Spec{}, err
	}
	s := sandbox.Spec{Name: p.object.Name, Links: baseLinks, Dir: container.WorkingDir}
	if p.object.Spec.HostNetwork {
		s.Name = p.nodeName()
	}
	if err := secure(&s, p.object, container); err != nil {
		return s, err
	}
	s.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}, image.Env...)
	if s.Env, err = environment(ctx, p.cluster.Client, p.object, container, s.Env); err != nil {
		return s, err
	}
	s.Env = last(s.Env)
	if s.Mounts, err = p.cluster.base(image, s.UserID); err != nil {
		return s, err
	}
	message, err := p.message(container.Name)
	if err != nil {
		return s, err
	}
	s.Mounts = append(s.Mounts, sandbox.Mount{
		Source: message, Target: cmp.Or(container.TerminationMessagePath, corev1.TerminationMessagePathDefault), Writable: true,
	})
	own, err := mounts(container, p.mounted())
	s.Mounts = append(s.Mounts, own...)
	if s.Args = container.Command; len(s.Args) == 0 {
		s.Args = image.Entrypoint
	}
	s.Args = append(append([]string{}, s.Args...), container.Args...)
	if len(s.Args) == 0 {
		return s, fmt.Errorf("container %s of pod %s has no command, and image %s no entrypoint", container.Name, p.object.Name, container.Image)
	}
	return s, err
}

// exec runs a command in the i-th container. The error contains its output.
func (p *pod) exec(ctx context.Context, i int, command []string) error {
	c := p.container(i)
	if c == nil {
		return fmt.Errorf("container %s does not run", p.object.Spec.Containers[i].Name)
	}
	if out, err := c.Exec(ctx, command...); err != nil {
		return fmt.Errorf("%v: %w: %s", command, err, out)
	}
	return nil
}

// container returns the i-th running container; nil if it does not run.
func (p *pod) container(i int) *sandbox.Container {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.containers) <= i+1 || p.containers[i+1] == nil || !p.containers[i+1].Running() {
		return nil
	}
	return p.containers[i+1]
}
