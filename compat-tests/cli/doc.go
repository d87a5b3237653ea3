// Package cli compares the tools of this repository with Apache Kafka's own: the same command lines against one
// cluster, then stdout, stderr and exit code side by side. The tests need the build tag compat, Java and Maven.
//
// The cluster is the one at OTTLA_COMPAT_BOOTSTRAP (host:port), or an ottla server that is started for the tests.
package cli
