// Package operators fakes the owners of emitted objects: External Secrets, cert-manager, the operator of MariaDB, a
// Gateway and K-ORC, each by one function that does as much as a cloud needs. The companion is not faked: its real
// controllers run. Objects without an owner here (budgets, policies, rules, usages) are ignored.
package operators
