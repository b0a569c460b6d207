// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "Diamond", path: "../..", traits: [.defaults, "Compression"]),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"5.0.0"),
    ],
    targets: [
        .target(
            name: "CPeers",
            cSettings: [.unsafeFlags(["-O2"])],
            linkerSettings: [
                .linkedLibrary("sqlite3"),
                .linkedLibrary("curl", .when(platforms: [.linux])),
            ]
        ),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "CPeers",
                .product(name: "Diamond", package: "Diamond"),
                .product(name: "DiamondModel", package: "Diamond"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: [
                // The disk tier has `package` access. This flag ignores it, so that the library needs no public entry
                // points for benchmarks. `-package-name` does not work, because SwiftPM adds its own after it. Unsafe
                // flags are refused only in dependencies, and nothing depends on this package.
                .unsafeFlags(["-Xfrontend", "-disable-access-control"]),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
