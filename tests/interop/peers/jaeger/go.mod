// SPDX-License-Identifier: Apache-2.0

// Jaeger 2 as it is released: its module is a dependency here, since it has replacements, with which go refuses to
// install it by name.
module lens/interop/jaeger

go 1.26

require github.com/jaegertracing/jaeger v1.76.0

tool github.com/jaegertracing/jaeger/cmd/jaeger
