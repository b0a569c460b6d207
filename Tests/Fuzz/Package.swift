// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "Fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Diamond", path: "../..", traits: [.defaults, "Valkey"])],
    targets: [
        .target(name: "CLibFuzzer"),
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "CLibFuzzer", .product(name: "Diamond", package: "Diamond"),
                .product(name: "DiamondCurlCommand", package: "Diamond"),
            ],
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])]
        ),
        .executableTarget(
            name: "FuzzRESP",
            dependencies: ["CLibFuzzer", .product(name: "DiamondValkey", package: "Diamond")],
            swiftSettings: [.define("Valkey")],
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])]
        ),
    ],
    swiftLanguageModes: [.v6]
)
