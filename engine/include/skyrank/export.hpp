#pragma once

// Marks the names that a shared library shows to those who link it.

/// Marks what the shared library exports: the functions and classes of the public headers. Everything else is compiled
/// with hidden visibility, so that an application can neither call it nor collide with it. The attribute changes
/// nothing in a static library.
#define SKYRANK_EXPORT __attribute__((visibility("default")))

/// Hides a member of an exported class.
#define SKYRANK_NO_EXPORT __attribute__((visibility("hidden")))
