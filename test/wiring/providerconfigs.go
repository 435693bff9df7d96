package wiring

// isProviderConfig reports whether an object configures the access of provider-kubernetes to a cluster.
func isProviderConfig(o object) bool {
	return o.is("ProviderConfig.kubernetes.crossplane.io") || o.is("ClusterProviderConfig.kubernetes.m.crossplane.io")
}

// checkProviderConfigs checks that the access to a cluster reads exactly the Secret that the WorkloadCluster names. The platform team
// creates this Secret, in a namespace of its own.
func (w *inventory) checkProviderConfigs() {
	for _, o := range w.objects {
		if !isProviderConfig(o) {
			continue
		}
		ref := at(o.manifest, "spec", "credentials", "secretRef")
		got := [3]string{text(ref, "namespace"), text(ref, "name"), text(ref, "key")}
		named := false
		for _, doc := range w.inputs {
			want := at(doc, "spec", "source", "existing", "kubeconfigSecretRef")
			named = named || got == [3]string{text(want, "namespace"), text(want, "name"), first(text(want, "key"), "kubeconfig")}
		}
		if !named {
			w.foundf("%s reads key %s of Secret %s in namespace %s, which no WorkloadCluster names.", o, got[2], got[1], got[0])
		}
	}
}
