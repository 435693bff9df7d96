package crds

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// data checks the keys and the size of ConfigMaps and Secrets.
func data(o object) field.ErrorList {
	var errs field.ErrorList
	size := 0
	observed := once[string]{}
	add := func(part, key string, length int) {
		path := field.NewPath(part).Key(key)
		size += length
		errs = append(errs, invalid(path, key, validation.IsConfigMapKey(key))...)
		errs = append(errs, observed.check(path, key)...)
	}
	switch t := o.typed.(type) {
	case *corev1.ConfigMap:
		for _, key := range slices.Sorted(maps.Keys(t.Data)) {
			add("data", key, len(t.Data[key]))
		}
		for _, key := range slices.Sorted(maps.Keys(t.BinaryData)) {
			add("binaryData", key, len(t.BinaryData[key]))
		}
	case *corev1.Secret:
		for key, value := range secretData(t) {
			add("data", key, len(value))
		}
	}
	// corev1.MaxSecretSize is the limit of ConfigMaps, too.
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(field.NewPath("data"), "", corev1.MaxSecretSize))
	}
	return errs
}

// secretData returns a Secret's data as the server stores it: stringData overrides data.
func secretData(s *corev1.Secret) map[string][]byte {
	all := maps.Clone(s.Data)
	if all == nil {
		all = map[string][]byte{}
	}
	for key, value := range s.StringData {
		all[key] = []byte(value)
	}
	return all
}

// secretKeys are the keys that typed Secrets must have. Where there are several lists, one of them is enough.
var secretKeys = map[corev1.SecretType][][]string{
	corev1.SecretTypeTLS:              {{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}},
	corev1.SecretTypeDockerConfigJson: {{corev1.DockerConfigJsonKey}},
	corev1.SecretTypeSSHAuth:          {{corev1.SSHAuthPrivateKey}},
	corev1.SecretTypeBasicAuth:        {{corev1.BasicAuthUsernameKey}, {corev1.BasicAuthPasswordKey}},
}

func secretType(o object) field.ErrorList {
	s, ok := o.typed.(*corev1.Secret)
	if !ok || len(secretKeys[s.Type]) == 0 {
		return nil
	}
	all := secretData(s)
	for _, keys := range secretKeys[s.Type] {
		if !slices.ContainsFunc(keys, func(key string) bool { _, ok := all[key]; return !ok }) {
			return nil
		}
	}
	return field.ErrorList{field.Required(field.NewPath("data").Key(secretKeys[s.Type][0][0]), "")}
}
