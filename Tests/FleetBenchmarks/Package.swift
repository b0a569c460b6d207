// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "FleetBenchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Diamond", path: "../..", traits: [.defaults, "Postgres", "Valkey"])],
    targets: [
        .systemLibrary(
            name: "CHiredis", pkgConfig: "hiredis", providers: [.apt(["libhiredis-dev"]), .brew(["hiredis"])]),
        .executableTarget(
            name: "FleetBenchmarks",
            dependencies: [
                "CHiredis", .product(name: "Diamond", package: "Diamond"),
                .product(name: "DiamondPostgres", package: "Diamond"),
                .product(name: "DiamondValkey", package: "Diamond"),
            ],
            swiftSettings: [
                // As in Tests/Benchmarks.
                .unsafeFlags(["-Xfrontend", "-disable-access-control"]),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
