// Package operators fakes the owners of what the functions emit: External Secrets, cert-manager, the operator of MariaDB, a Gateway and
// K-ORC, each by one function that does as much as a cloud needs. The companion is not faked: its own controllers run. What nobody here
// owns (budgets, policies, rules, usages) is left alone.
package operators
