package crds

import (
	"net/netip"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func servicePorts(o object) field.ErrorList {
	s, ok := o.typed.(*corev1.Service)
	if !ok {
		return nil
	}
	type key struct {
		port     int32
		protocol corev1.Protocol
	}
	errs := metav1validation.ValidateLabels(s.Spec.Selector, spec.Child("selector"))
	if len(s.Spec.Ports) == 0 && s.Spec.ClusterIP != corev1.ClusterIPNone && s.Spec.Type != corev1.ServiceTypeExternalName {
		errs = append(errs, field.Required(spec.Child("ports"), ""))
	}
	names, numbers := once[string]{}, once[key]{}
	for i, p := range s.Spec.Ports {
		path := spec.Child("ports").Index(i)
		if p.Name != "" || len(s.Spec.Ports) > 1 {
			errs = append(errs, invalid(path.Child("name"), p.Name, validation.IsDNS1123Label(p.Name))...)
			errs = append(errs, names.check(path.Child("name"), p.Name)...)
		}
		errs = append(errs, invalid(path.Child("port"), p.Port, validation.IsValidPortNum(int(p.Port)))...)
		errs = append(errs, protocol(path.Child("protocol"), p.Protocol)...)
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		errs = append(errs, numbers.check(path, key{p.Port, p.Protocol})...)
		if target := p.TargetPort; target.Type == intstr.String || target.IntVal != 0 {
			errs = append(errs, portOrName(path.Child("targetPort"), target)...)
		}
	}
	return errs
}

func portOrName(path *field.Path, port intstr.IntOrString) field.ErrorList {
	if port.Type == intstr.Int {
		return invalid(path, port.IntVal, validation.IsValidPortNum(int(port.IntVal)))
	}
	return invalid(path, port.StrVal, validation.IsValidPortName(port.StrVal))
}

func networkPolicy(o object) field.ErrorList {
	n, ok := o.typed.(*networkingv1.NetworkPolicy)
	if !ok {
		return nil
	}
	errs := validSelector(spec.Child("podSelector"), &n.Spec.PodSelector)
	for i, rule := range n.Spec.Ingress {
		path := spec.Child("ingress").Index(i)
		errs = append(errs, policyPorts(path.Child("ports"), rule.Ports)...)
		errs = append(errs, policyPeers(path.Child("from"), rule.From)...)
	}
	for i, rule := range n.Spec.Egress {
		path := spec.Child("egress").Index(i)
		errs = append(errs, policyPorts(path.Child("ports"), rule.Ports)...)
		errs = append(errs, policyPeers(path.Child("to"), rule.To)...)
	}
	types := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	for i, t := range n.Spec.PolicyTypes {
		if !slices.Contains(types, t) {
			errs = append(errs, field.NotSupported(spec.Child("policyTypes").Index(i), t, types))
		}
	}
	return errs
}

func policyPorts(path *field.Path, ports []networkingv1.NetworkPolicyPort) field.ErrorList {
	var errs field.ErrorList
	for i, p := range ports {
		path := path.Index(i)
		if p.Protocol != nil {
			errs = append(errs, protocol(path.Child("protocol"), *p.Protocol)...)
		}
		if p.Port != nil {
			errs = append(errs, portOrName(path.Child("port"), *p.Port)...)
		}
		if p.EndPort != nil && (p.Port == nil || p.Port.Type != intstr.Int || *p.EndPort < p.Port.IntVal) {
			errs = append(errs, field.Invalid(path.Child("endPort"), *p.EndPort, "must not be below port"))
		}
	}
	return errs
}

func policyPeers(path *field.Path, peers []networkingv1.NetworkPolicyPeer) field.ErrorList {
	var errs field.ErrorList
	for i, p := range peers {
		path := path.Index(i)
		selectors := 0
		for name, s := range map[string]*metav1.LabelSelector{"podSelector": p.PodSelector, "namespaceSelector": p.NamespaceSelector} {
			if s != nil {
				selectors++
				errs = append(errs, validSelector(path.Child(name), s)...)
			}
		}
		switch {
		case p.IPBlock != nil && selectors > 0:
			errs = append(errs, field.Forbidden(path.Child("ipBlock"), "a peer has selectors or a block, not both"))
		case p.IPBlock != nil:
			if _, err := netip.ParsePrefix(p.IPBlock.CIDR); err != nil {
				errs = append(errs, field.Invalid(path.Child("ipBlock", "cidr"), p.IPBlock.CIDR, "must be a CIDR such as 192.0.2.0/24"))
			}
		case selectors == 0:
			errs = append(errs, field.Required(path, "a peer has selectors or a block"))
		}
	}
	return errs
}

func disruptionBudget(o object) field.ErrorList {
	b, ok := o.typed.(*policyv1.PodDisruptionBudget)
	if !ok {
		return nil
	}
	var errs field.ErrorList
	if (b.Spec.MinAvailable == nil) == (b.Spec.MaxUnavailable == nil) {
		errs = append(errs, field.Invalid(spec, field.OmitValueType{}, "must have minAvailable or maxUnavailable, and not both"))
	}
	for name, limit := range map[string]*intstr.IntOrString{"minAvailable": b.Spec.MinAvailable, "maxUnavailable": b.Spec.MaxUnavailable} {
		switch {
		case limit == nil:
		case limit.Type == intstr.String:
			errs = append(errs, invalid(spec.Child(name), limit.StrVal, validation.IsValidPercent(limit.StrVal))...)
		default:
			errs = append(errs, notNegative(spec.Child(name), limit.IntVal)...)
		}
	}
	if b.Spec.Selector != nil {
		errs = append(errs, validSelector(spec.Child("selector"), b.Spec.Selector)...)
	}
	return errs
}

func isZero(v *intstr.IntOrString) bool {
	return v != nil && (v.Type == intstr.Int && v.IntVal == 0 || v.Type == intstr.String && v.StrVal == "0%")
}

func autoscaler(o object) field.ErrorList {
	a, ok := o.typed.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		return nil
	}
	var errs field.ErrorList
	if ref := a.Spec.ScaleTargetRef; ref.Kind == "" || ref.Name == "" {
		errs = append(errs, field.Required(spec.Child("scaleTargetRef"), ""))
	}
	if least := a.Spec.MinReplicas; a.Spec.MaxReplicas < 1 || least != nil && a.Spec.MaxReplicas < *least {
		errs = append(errs, field.Invalid(spec.Child("maxReplicas"), a.Spec.MaxReplicas, ""))
	}
	return errs
}
