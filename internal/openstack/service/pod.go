package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

const (
	portName    = "api"
	passwordEnv = "DATABASE_PASSWORD"
	// Volumes, and the folders that they are mounted in.
	databaseCA = "database-ca"
	queueCA    = "queue-ca"
	identityCA = "identity-ca"
	serverTLS  = "tls"
)

// UserID is the numeric user of the images.
const UserID = 42424

// syncWait makes reads on another member of a Galera cluster see what was just written
// (https://mariadb.com/docs/galera-cluster/reference/galera-cluster-system-variables#wsrep_sync_wait).
const syncWait = "&init_command=SET+SESSION+wsrep_sync_wait%3D1"

// BarePod is a pod of the service's image that reaches the databases and the queue, and reads no configuration file.
func (s *Service) BarePod(image string, command []string) workload.Pod {
	db := s.Spec.Database
	var env []corev1.EnvVar
	if len(s.Databases) > 0 {
		env = append(env, workload.SecretEnv(passwordEnv, s.Sub("database"), secret.PasswordKey))
	}
	for _, d := range s.Databases {
		user, schema := db.NameOf(s.user()), db.NameOf(s.schemaName(d))
		url := mariadb.URL(user, passwordEnv, db.Host, db.Port, schema, s.Path(databaseCA, string(db.CASecretRef.Key)))
		if db.Galera && d.NoWsrepSyncWait {
			url += syncWait
		}
		env = append(env, corev1.EnvVar{Name: oslo.MustEnvName(d.Group, "connection"), Value: url})
	}
	if s.Queue {
		env = append(env, s.queueEnv()...)
	}
	p := workload.Pod{
		UserID: UserID,
		Containers: []corev1.Container{{
			Name:    s.App,
			Image:   image,
			Command: command,
			Env:     env,
		}},
	}
	for _, v := range s.Volumes {
		v.mount(&p)
	}
	if len(s.Databases) > 0 {
		s.SecretVolume(databaseCA, string(db.CASecretRef.Name), string(db.CASecretRef.Key)).mount(&p)
	}
	if s.Queue {
		ca := s.Spec.Queue.CASecretRef
		s.SecretVolume(queueCA, string(ca.Name), string(ca.Key)).mount(&p)
	}
	return p
}

// Pod is a pod that reads the configuration files, too.
func (s *Service) Pod(image string, f Files, command []string) workload.Pod {
	p := s.BarePod(image, command)
	c := &p.Containers[0]
	var mounted []string
	if !s.WithoutOsloConfig {
		mounted = append(mounted, s.configFile(), PolicyFile)
	}
	for _, page := range s.ExtraFiles {
		if !page.External {
			mounted = append(mounted, page.Name)
		}
	}
	s.mountConfig(c, mounted...)
	p.Volumes = append(p.Volumes, workload.ConfigVolume("config", f.Name))
	for _, v := range s.ConfigVolumes {
		v.mount(&p)
	}
	return p
}

// mountConfig mounts files of the ConfigMap into the service's folder.
func (s *Service) mountConfig(c *corev1.Container, files ...string) {
	for _, file := range files {
		c.VolumeMounts = append(c.VolumeMounts, workload.MountFile("config", s.Path(file), file))
	}
}

// JobPod is a pod of the service's Jobs, which run its tools.
func (s *Service) JobPod(image string, f Files, command []string) workload.Pod {
	p := s.Pod(image, f, command)
	p.RestartPolicy = corev1.RestartPolicyNever
	for _, v := range s.JobVolumes {
		v.mount(&p)
	}
	c := &p.Containers[0]
	replaced := func(was corev1.EnvVar) bool {
		return slices.ContainsFunc(s.JobEnv, func(e corev1.EnvVar) bool { return e.Name == was.Name })
	}
	c.Env = append(slices.DeleteFunc(c.Env, replaced), s.JobEnv...)
	return p
}

// LogIn gives a pod what it logs in to Keystone by, in groups of options.
func (s *Service) LogIn(p *workload.Pod, groups ...string) {
	s.IdentityCA().mount(p)
	for _, group := range groups {
		p.Containers[0].Env = append(p.Containers[0].Env, s.AuthEnv(group)...)
	}
}

// IdentityCA is the volume with the authority by which Keystone's internal address is verified, and those of other services, which have the
// same. Pods that log in have it.
func (s *Service) IdentityCA() Volume {
	ca := s.Spec.Identity.CASecretRef
	return s.SecretVolume(identityCA, string(ca.Name), string(ca.Key))
}

// TrustedFile is where a pod that logs in, or asks Keystone for others, has that authority.
func (s *Service) TrustedFile() string {
	return s.Path(identityCA, string(s.Spec.Identity.CASecretRef.Key))
}

// ServerPod is a pod of the API's process.
func (s *Service) ServerPod() workload.Pod {
	p := s.Pod(s.Image, s.Files, []string{"uwsgi", "--ini", s.Path(UWSGIFile)})
	s.mountConfig(&p.Containers[0], UWSGIFile, workload.HealthFile)
	p.GraceSeconds = workload.Grace(s.TerminationGracePeriod)
	p.Annotations = s.Annotations
	if s.registered() {
		s.LogIn(&p, append([]string{authToken}, s.Logins...)...)
	} else if s.Spec.Identity != nil {
		s.IdentityCA().mount(&p)
	}
	if s.Queue {
		p.Containers[0].Env = append(p.Containers[0].Env, s.processName("api"))
	}
	p.Volumes = append(p.Volumes, workload.SecretVolume(serverTLS, s.Sub(serverTLS), certificate.CertKey, certificate.KeyKey))
	for _, v := range s.Mounts {
		v.mount(&p)
	}
	p.Containers[0].Env = append(p.Containers[0].Env, s.Env...)
	return p
}

// APIPod is a pod of the API whose process clients talk to.
func (s *Service) APIPod() workload.Pod {
	p := s.ServerPod()
	s.ServeFromContainer(&p.Containers[0])
	workload.Health(&p.Containers[0], s.Answers())
	return p
}

// ServeFromContainer makes a container of the API's pod that which clients talk to, by https.
func (s *Service) ServeFromContainer(c *corev1.Container) {
	c.VolumeMounts = append(c.VolumeMounts, workload.Mount(serverTLS, s.Path(serverTLS)))
	c.Ports = []corev1.ContainerPort{{Name: portName, ContainerPort: s.Port}}
	workload.Drain(c)
}

// Answers is a request that the API answers without a login, once its application works.
func (s *Service) Answers() workload.Check {
	check := workload.HTTPS(portName, s.HealthPath)
	if s.RequiresHostHeader {
		check = check.At(s.InternalHost())
	}
	return check
}

// mount adds the volume to a pod, and its mount to the main container.
func (v Volume) mount(p *workload.Pod) {
	p.Containers[0].VolumeMounts = append(p.Containers[0].VolumeMounts, corev1.VolumeMount{
		Name: v.Name, MountPath: v.Folder, ReadOnly: !v.Writable,
	})
	if v.VolumeSource != (corev1.VolumeSource{}) {
		p.Volumes = append(p.Volumes, v.Volume)
	}
}
