package crds

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ofPod converts a check of pods to a check of objects.
func ofPod(run func(p *pod) field.ErrorList) func(object) field.ErrorList {
	return func(o object) field.ErrorList {
		if o.pod == nil {
			return nil
		}
		return run(o.pod)
	}
}

// ofContainer converts a check of containers to a check of pods.
func ofContainer(run func(p *pod, c *corev1.Container, path *field.Path) field.ErrorList) func(*pod) field.ErrorList {
	return func(p *pod) field.ErrorList {
		var errs field.ErrorList
		p.eachContainer(func(c *corev1.Container, path *field.Path) { errs = append(errs, run(p, c, path)...) })
		return errs
	}
}

func (p *pod) eachContainer(do func(c *corev1.Container, path *field.Path)) {
	for i := range p.spec.InitContainers {
		do(&p.spec.InitContainers[i], p.path.Child("spec", "initContainers").Index(i))
	}
	for i := range p.spec.Containers {
		do(&p.spec.Containers[i], p.path.Child("spec", "containers").Index(i))
	}
}

// once rejects duplicates. Lists that Kubernetes merges by a key may not contain a key twice under server-side apply,
// even where another request may.
type once[T comparable] map[T]bool

func (keys once[T]) check(path *field.Path, key T) field.ErrorList {
	if keys[key] {
		return field.ErrorList{field.Duplicate(path, key)}
	}
	keys[key] = true
	return nil
}

// invalid converts the reasons against a value to errors.
func invalid(path *field.Path, value any, reasons []string) field.ErrorList {
	var errs field.ErrorList
	for _, reason := range reasons {
		errs = append(errs, field.Invalid(path, value, reason))
	}
	return errs
}

func hasContainer(p *pod) field.ErrorList {
	if len(p.spec.Containers) == 0 {
		return field.ErrorList{field.Required(p.path.Child("spec", "containers"), "")}
	}
	return nil
}

func containerNames(p *pod) field.ErrorList {
	var errs field.ErrorList
	names := once[string]{}
	p.eachContainer(func(c *corev1.Container, path *field.Path) {
		errs = append(errs, invalid(path.Child("name"), c.Name, validation.IsDNS1123Label(c.Name))...)
		errs = append(errs, names.check(path.Child("name"), c.Name)...)
		if c.Image == "" {
			errs = append(errs, field.Required(path.Child("image"), ""))
		}
	})
	return errs
}

func volumes(p *pod) field.ErrorList {
	var errs field.ErrorList
	names := once[string]{}
	for i, v := range p.spec.Volumes {
		path := p.path.Child("spec", "volumes").Index(i)
		errs = append(errs, invalid(path.Child("name"), v.Name, validation.IsDNS1123Label(v.Name))...)
		errs = append(errs, names.check(path.Child("name"), v.Name)...)
		if n := countSet(v.VolumeSource); n != 1 {
			errs = append(errs, field.Invalid(path, v.Name, ""))
		}
	}
	return errs
}

// countSet counts the non-nil fields of a struct of pointers: one of them, by Kubernetes' convention for unions.
func countSet(union any) int {
	n := 0
	for _, f := range reflect.ValueOf(union).Fields() {
		if f.Kind() == reflect.Pointer && !f.IsNil() {
			n++
		}
	}
	return n
}

func volumeMounts(p *pod, c *corev1.Container, path *field.Path) field.ErrorList {
	names := sets.New(p.claims...)
	for _, v := range p.spec.Volumes {
		names.Insert(v.Name)
	}
	var errs field.ErrorList
	paths := once[string]{}
	for i, m := range c.VolumeMounts {
		path := path.Child("volumeMounts").Index(i)
		if !names.Has(m.Name) {
			errs = append(errs, field.NotFound(path.Child("name"), m.Name))
		}
		if m.MountPath == "" {
			errs = append(errs, field.Required(path.Child("mountPath"), ""))
		}
		errs = append(errs, paths.check(path.Child("mountPath"), m.MountPath)...)
	}
	return errs
}

func ports(_ *pod, c *corev1.Container, path *field.Path) field.ErrorList {
	type key struct {
		port     int32
		protocol corev1.Protocol
	}
	var errs field.ErrorList
	names := once[string]{}
	numbers := once[key]{}
	for i, port := range c.Ports {
		path := path.Child("ports").Index(i)
		errs = append(errs, invalid(path.Child("containerPort"), port.ContainerPort, validation.IsValidPortNum(int(port.ContainerPort)))...)
		if port.Protocol == "" {
			port.Protocol = corev1.ProtocolTCP
		}
		errs = append(errs, protocol(path.Child("protocol"), port.Protocol)...)
		errs = append(errs, numbers.check(path, key{port.ContainerPort, port.Protocol})...)
		if port.Name != "" {
			errs = append(errs, invalid(path.Child("name"), port.Name, validation.IsValidPortName(port.Name))...)
			errs = append(errs, names.check(path.Child("name"), port.Name)...)
		}
	}
	return errs
}

var protocols = []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}

// protocol accepts an empty protocol, which defaults to TCP.
func protocol(path *field.Path, p corev1.Protocol) field.ErrorList {
	if p == "" || slices.Contains(protocols, p) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, p, protocols)}
}

// environment checks names by the rules of every supported Kubernetes version; newer versions allow more.
func environment(_ *pod, c *corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := once[string]{}
	for i, env := range c.Env {
		path := path.Child("env").Index(i)
		errs = append(errs, invalid(path.Child("name"), env.Name, validation.IsEnvVarName(env.Name))...)
		errs = append(errs, names.check(path.Child("name"), env.Name)...)
		if from := env.ValueFrom; from != nil && (env.Value != "" || countSet(*from) != 1) {
			errs = append(errs, field.Invalid(path.Child("valueFrom"), env.Name, ""))
		}
	}
	for i, from := range c.EnvFrom {
		path := path.Child("envFrom").Index(i)
		if countSet(from) != 1 {
			errs = append(errs, field.Invalid(path, from.Prefix, ""))
		}
		if from.Prefix != "" {
			errs = append(errs, invalid(path.Child("prefix"), from.Prefix, validation.IsEnvVarName(from.Prefix))...)
		}
	}
	return errs
}

func resources(_ *pod, c *corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for name, limit := range c.Resources.Limits {
		request, ok := c.Resources.Requests[name]
		if ok && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(path.Child("resources", "requests").Key(string(name)), request.String(), ""))
		}
	}
	return errs
}

func restartPolicy(p *pod) field.ErrorList {
	if len(p.restart) == 0 || slices.Contains(p.restart, p.spec.RestartPolicy) {
		return nil
	}
	return field.ErrorList{field.NotSupported(p.path.Child("spec", "restartPolicy"), p.spec.RestartPolicy, p.restart)}
}

func podLabels(p *pod) field.ErrorList {
	return metav1validation.ValidateLabels(p.meta.Labels, p.path.Child("metadata", "labels"))
}
