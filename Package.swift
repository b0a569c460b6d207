// swift-tools-version: 6.2

import CompilerPluginSupport
import PackageDescription

/// What HTTPClientTransport is made of: async-http-client, and the packages whose types stand in its interface.
let asyncHTTPClient: [Target.Dependency] = [
    ("AsyncHTTPClient", "async-http-client"),
    ("NIOCore", "swift-nio"),
    ("NIOHTTP1", "swift-nio"),
    ("NIOHTTP2", "swift-nio-http2"),
    ("NIOPosix", "swift-nio"),
    ("NIOHTTPCompression", "swift-nio-extras"),
    ("NIOSSL", "swift-nio-ssl"),
].map { .product(name: $0, package: $1, condition: .when(traits: ["AsyncHTTPClient"])) }

/// What the test server that speaks HTTP/2 is made of: packages that async-http-client brings anyway.
let http2Tests: [Target.Dependency] = [
    ("NIOCore", "swift-nio"), ("NIOPosix", "swift-nio"), ("NIOHPACK", "swift-nio-http2"),
    ("NIOHTTP2", "swift-nio-http2"), ("NIOSSL", "swift-nio-ssl"),
].map { .product(name: $0, package: $1, condition: .when(traits: ["AsyncHTTPClient"])) }

/// What the observers are made of, each behind its own trait.
let observability: [Target.Dependency] = [
    ("Logging", "swift-log"), ("Metrics", "swift-metrics"), ("Tracing", "swift-distributed-tracing"),
]
.map { .product(name: $0, package: $1, condition: .when(traits: [$0])) }

/// What cachectl's proxy is made of: the core of a server that the sample API brings anyway.
let proxy: [Target.Dependency] = [
    ("HummingbirdCore", "hummingbird"), ("Logging", "swift-log"), ("NIOConcurrencyHelpers", "swift-nio"),
    ("NIOCore", "swift-nio"), ("NIOHTTP1", "swift-nio"), ("NIOPosix", "swift-nio"),
].map { .product(name: $0, package: $1, condition: .when(traits: ["Tools"])) }

/// What their tests look at.
let observabilityTests: [Target.Dependency] = [
    ("InMemoryLogging", "swift-log", "Logging"),
    ("MetricsTestKit", "swift-metrics", "Metrics"),
    ("InMemoryTracing", "swift-distributed-tracing", "Tracing"),
].map { .product(name: $0, package: $1, condition: .when(traits: [$2])) }

/// What shows that an engine is a service like others: swift-service-lifecycle, which the sample API brings anyway.
let lifecycleTests: [Target.Dependency] = ["ServiceLifecycle", "UnixSignals"].map {
    .product(name: $0, package: "swift-service-lifecycle", condition: .when(traits: ["Tools"]))
}

/// What macros are made of: the compiler's own parser of Swift.
func swiftSyntax(_ products: String...) -> [Target.Dependency] {
    products.map { .product(name: $0, package: "swift-syntax", condition: .when(traits: ["Macros"])) }
}

let package = Package(
    name: "Diamond",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Diamond", targets: ["Diamond"]),
        .library(name: "DiamondModel", targets: ["DiamondModel"]),
        .library(name: "DiamondCurlCommand", targets: ["DiamondCurlCommand"]),
        .library(name: "DiamondTesting", targets: ["DiamondTesting"]),
        .executable(name: "cachectl", targets: ["cachectl"]),
    ],
    traits: [
        .default(enabledTraits: ["Curl"]),
        .trait(
            name: "Curl", description: "The Linux transport over the system's libcurl and zlib; without it URLSession."),
        .trait(
            name: "AsyncHTTPClient",
            description: "HTTPClientTransport, over async-http-client, for programs that have it anyway."
        ),
        .trait(name: "Compression", description: "Bodies of text may be stored compressed, by the system's zlib."),
        .trait(
            name: "Logging", description: "LogObserver, which writes what an engine does into a Logger of swift-log."),
        .trait(name: "Metrics", description: "MetricsObserver, which counts and times it for swift-metrics."),
        .trait(name: "Tracing", description: "TracingObserver, which makes spans of it for swift-distributed-tracing."),
        .trait(
            name: "Macros", description: "@Modeled, which writes the properties of a model class, over swift-syntax."),
        .trait(name: "Tools", description: "What cachectl and the sample API need: an argument parser, a server."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"5.0.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.26.0"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.36.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-syntax", "603.0.1"..<"604.0.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CDiamondSQLite",
            path: "Sources/CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .yum(["sqlite-devel"]), .brew(["sqlite"])]
        ),
        .systemLibrary(
            name: "CDiamondCurl",
            path: "Sources/CCurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .yum(["libcurl-devel"])]
        ),
        .systemLibrary(
            name: "CDiamondZlib",
            path: "Sources/CZlib",
            pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"]), .yum(["zlib-devel"])]
        ),
        .target(name: "DiamondSQLite", dependencies: ["CDiamondSQLite"]),
        .target(
            name: "DiamondSchema",
            dependencies: ["DiamondSQLite"],
            path: "Schema",
            resources: [.embedInCode("cache-v1.sql"), .embedInCode("replay-v1.sql")]
        ),
        .target(
            name: "Diamond",
            dependencies: [
                "DiamondSchema",
                "DiamondSQLite",
                .target(name: "CDiamondCurl", condition: .when(platforms: [.linux], traits: ["Curl"])),
                .target(name: "CDiamondZlib", condition: .when(traits: ["AsyncHTTPClient", "Compression", "Curl"])),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Crypto", package: "swift-crypto"),
            ] + asyncHTTPClient + observability
        ),
        .target(
            name: "DiamondExpansion",
            dependencies: swiftSyntax("SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros", "SwiftDiagnostics")
        ),
        .macro(
            name: "DiamondMacros",
            dependencies: swiftSyntax("SwiftCompilerPlugin", "SwiftSyntaxMacros") + [
                .target(name: "DiamondExpansion", condition: .when(traits: ["Macros"]))
            ]
        ),
        .target(
            name: "DiamondModel",
            dependencies: ["Diamond", .target(name: "DiamondMacros", condition: .when(traits: ["Macros"]))]
        ),
        .target(
            name: "DiamondCurlCommand",
            dependencies: ["Diamond", .product(name: "HTTPTypes", package: "swift-http-types")]
        ),
        // What only an operator asks of a store.
        .target(
            name: "DiamondInspection",
            dependencies: [
                "Diamond", "DiamondSchema", "DiamondSQLite", .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(
            name: "DiamondTesting",
            dependencies: [
                "Diamond", "DiamondModel", "DiamondSQLite", .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .executableTarget(
            name: "cachectl",
            dependencies: [
                "Diamond",
                "DiamondCurlCommand",
                "DiamondInspection",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["Tools"])
                ),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ] + proxy
        ),

        .executableTarget(
            name: "SampleAPI",
            dependencies: [
                .product(
                    name: "Hummingbird",
                    package: "hummingbird",
                    condition: .when(traits: ["Tools"])
                )
            ],
            path: "Tests/SampleAPI"
        ),
        // One of several processes that use a store at the same time, and are killed.
        .executableTarget(
            name: "StoreHammer",
            dependencies: ["CSpawn", "Diamond", "DiamondSQLite", "DiamondTestSupport", "DiamondTesting"],
            path: "Tests/StoreHammer"
        ),
        // One of several processes that add to a queue and send its jobs at the same time, and are killed.
        .executableTarget(
            name: "QueueHammer",
            dependencies: [
                "Diamond", "DiamondModel", "DiamondSQLite", "DiamondTestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/QueueHammer"
        ),
        // Replaces getaddrinfo in the test process, for names whose lookup lasts.
        .target(name: "CSlowResolver", path: "Tests/SlowResolver"),
        // A SQLite VFS whose calls fail when a test says so, and that forgets what was not synced.
        .target(name: "CFaultDisk", dependencies: ["CDiamondSQLite"], path: "Tests/FaultDisk"),
        // Starts processes, which Foundation does not do reliably on Linux, and forks.
        .target(name: "CSpawn", path: "Tests/Spawn"),
        .target(
            name: "DiamondTestSupport",
            dependencies: [
                "CFaultDisk",
                "CSlowResolver",
                "CSpawn",
                "Diamond",
                "DiamondSQLite",
                "DiamondSchema",
                "DiamondTesting",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ] + http2Tests,
            path: "Tests/Support"
        ),
        .testTarget(
            name: "DiamondSQLiteTests",
            dependencies: ["DiamondSQLite", "DiamondTestSupport", "DiamondTesting"],
            path: "Tests/DiamondSQLite"
        ),
        .testTarget(
            name: "DiamondTests",
            dependencies: [
                "CDiamondSQLite",
                "Diamond",
                "DiamondCurlCommand",
                "DiamondInspection",
                "DiamondSQLite",
                "DiamondSchema",
                "DiamondTestSupport",
                "DiamondTesting",
                "QueueHammer",
                "SampleAPI",
                "StoreHammer",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Crypto", package: "swift-crypto"),
            ] + asyncHTTPClient + observability + observabilityTests + lifecycleTests,
            path: "Tests/Diamond"
        ),
        .testTarget(
            name: "DiamondModelTests",
            dependencies: [
                "Diamond", "DiamondModel", "DiamondTestSupport", "DiamondTesting", "QueueHammer", "SampleAPI",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/DiamondModel"
        ),
        .testTarget(
            name: "DiamondCurlCommandTests",
            dependencies: [
                "Diamond", "DiamondCurlCommand", "DiamondTestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/DiamondCurlCommand"
        ),
        .testTarget(
            name: "DiamondExpansionTests",
            dependencies: swiftSyntax(
                "SwiftSyntaxMacros", "SwiftSyntaxMacroExpansion", "SwiftSyntaxMacrosGenericTestSupport"
            ) + [.target(name: "DiamondExpansion", condition: .when(traits: ["Macros"]))],
            path: "Tests/DiamondExpansion"
        ),
        .testTarget(
            name: "cachectlTests",
            dependencies: [
                "cachectl", "Diamond", "DiamondInspection", "DiamondSQLite", "DiamondTestSupport", "DiamondTesting",
                "SampleAPI",
            ],
            path: "Tests/cachectl"
        ),
        .testTarget(
            name: "DiamondTestingTests",
            dependencies: [
                "Diamond",
                "DiamondTestSupport",
                "DiamondTesting",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/DiamondTesting"
        ),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where ![.system, .plugin].contains(target.type) {
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
            .enableUpcomingFeature("ExistentialAny"),
            // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
            .enableUpcomingFeature("MemberImportVisibility"),
            // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
            .enableUpcomingFeature("InternalImportsByDefault"),
            // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0461-async-function-isolation.md
            .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        ]
        // What CI asks for, in the build that it tests. Nobody's else: a newer compiler may warn of more.
        + (Context.environment["DIAMOND_STRICT"] == nil
            ? [] : [.treatAllWarnings(as: .error), .unsafeFlags(["-require-explicit-sendable"])])
}
