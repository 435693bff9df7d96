package crds

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// probes is stricter than an API server about named ports: it accepts any name, and the probe fails later.
func probes(_ *pod, c *corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, p := range []struct {
		name  string
		probe *corev1.Probe
		// repeated: the probe may require more than one success in a row.
		repeated bool
	}{
		{"livenessProbe", c.LivenessProbe, false},
		{"readinessProbe", c.ReadinessProbe, true},
		{"startupProbe", c.StartupProbe, false},
	} {
		if p.probe == nil {
			continue
		}
		path := path.Child(p.name)
		errs = append(errs, oneHandler(path, p.probe.ProbeHandler)...)
		errs = append(errs, handlerPort(path, c, p.probe.HTTPGet, p.probe.TCPSocket)...)
		if grpc := p.probe.GRPC; grpc != nil {
			errs = append(errs, invalid(path.Child("grpc", "port"), grpc.Port, validation.IsValidPortNum(int(grpc.Port)))...)
		}
		if p.probe.SuccessThreshold > 1 && !p.repeated {
			errs = append(errs, field.Invalid(path.Child("successThreshold"), p.probe.SuccessThreshold, "must be 1"))
		}
		for name, value := range map[string]int32{
			"initialDelaySeconds": p.probe.InitialDelaySeconds, "timeoutSeconds": p.probe.TimeoutSeconds, "periodSeconds": p.probe.PeriodSeconds,
			"failureThreshold": p.probe.FailureThreshold, "successThreshold": p.probe.SuccessThreshold,
		} {
			errs = append(errs, notNegative(path.Child(name), value)...)
		}
	}
	if c.Lifecycle != nil {
		for name, h := range map[string]*corev1.LifecycleHandler{"postStart": c.Lifecycle.PostStart, "preStop": c.Lifecycle.PreStop} {
			if h == nil {
				continue
			}
			path := path.Child("lifecycle", name)
			errs = append(errs, oneHandler(path, *h)...)
			errs = append(errs, handlerPort(path, c, h.HTTPGet, h.TCPSocket)...)
		}
	}
	return errs
}

func oneHandler(path *field.Path, handler any) field.ErrorList {
	if n := countSet(handler); n != 1 {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must have one handler, such as httpGet or exec")}
	}
	return nil
}

func handlerPort(path *field.Path, c *corev1.Container, get *corev1.HTTPGetAction, tcp *corev1.TCPSocketAction) field.ErrorList {
	switch {
	case get != nil:
		return containerPort(path.Child("httpGet", "port"), c, get.Port)
	case tcp != nil:
		return containerPort(path.Child("tcpSocket", "port"), c, tcp.Port)
	}
	return nil
}

func containerPort(path *field.Path, c *corev1.Container, port intstr.IntOrString) field.ErrorList {
	if port.Type == intstr.Int {
		return invalid(path, port.IntVal, validation.IsValidPortNum(int(port.IntVal)))
	}
	for _, p := range c.Ports {
		if p.Name == port.StrVal {
			return nil
		}
	}
	return field.ErrorList{field.NotFound(path, port.StrVal)}
}
