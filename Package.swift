// swift-tools-version: 6.2

import CompilerPluginSupport
import PackageDescription

/// The dependencies of HTTPClientTransport: async-http-client, and the packages whose types its interface has.
let asyncHTTPClient: [Target.Dependency] = [
    ("AsyncHTTPClient", "async-http-client"),
    ("NIOCore", "swift-nio"),
    ("NIOHTTP1", "swift-nio"),
    ("NIOHTTP2", "swift-nio-http2"),
    ("NIOPosix", "swift-nio"),
    ("NIOHTTPCompression", "swift-nio-extras"),
    ("NIOSSL", "swift-nio-ssl"),
].map { .product(name: $0, package: $1, condition: .when(traits: ["AsyncHTTPClient"])) }

/// The dependencies of DiamondValkey: the connection to a server. async-http-client depends on the same packages.
let valkey: [Target.Dependency] = [
    ("NIOCore", "swift-nio"), ("NIOPosix", "swift-nio"), ("NIOSSL", "swift-nio-ssl"),
].map { .product(name: $0, package: $1, condition: .when(traits: ["Valkey"])) }

/// The dependencies of the HTTP/2 test server. async-http-client depends on the same packages.
let http2Tests: [Target.Dependency] = [
    ("NIOCore", "swift-nio"), ("NIOPosix", "swift-nio"), ("NIOHPACK", "swift-nio-http2"),
    ("NIOHTTP2", "swift-nio-http2"), ("NIOSSL", "swift-nio-ssl"),
].map { .product(name: $0, package: $1, condition: .when(traits: ["AsyncHTTPClient"])) }

/// The dependencies of the observers, each with its own trait.
let observability: [Target.Dependency] = [
    ("Logging", "swift-log"), ("Metrics", "swift-metrics"), ("Tracing", "swift-distributed-tracing"),
]
.map { .product(name: $0, package: $1, condition: .when(traits: [$0])) }

/// The drivers of servers in cachectl, and in its tests.
let servers: [Target.Dependency] = ["Postgres", "Valkey"].map {
    .target(name: "Diamond\($0)", condition: .when(traits: [$0]))
}

/// The dependencies of cachectl's proxy. The sample API depends on the same packages.
let proxy: [Target.Dependency] = [
    ("HummingbirdCore", "hummingbird"), ("Logging", "swift-log"), ("NIOConcurrencyHelpers", "swift-nio"),
    ("NIOCore", "swift-nio"), ("NIOHTTP1", "swift-nio"), ("NIOPosix", "swift-nio"),
].map { .product(name: $0, package: $1, condition: .when(traits: ["Tools"])) }

/// The dependencies of cachectl's page. The sample API depends on the same package.
let inspector: [Target.Dependency] =
    [.target(name: "CDiamondInspector", condition: .when(traits: ["Tools"]))]
    + [("Hummingbird", "hummingbird"), ("Mustache", "swift-mustache")].map {
        .product(name: $0, package: $1, condition: .when(traits: ["Tools"]))
    }

/// The dependencies of the observers' tests.
let observabilityTests: [Target.Dependency] = [
    ("InMemoryLogging", "swift-log", "Logging"),
    ("MetricsTestKit", "swift-metrics", "Metrics"),
    ("InMemoryTracing", "swift-distributed-tracing", "Tracing"),
].map { .product(name: $0, package: $1, condition: .when(traits: [$2])) }

/// The dependencies of the test that runs engines as services. The sample API depends on the same package.
let lifecycleTests: [Target.Dependency] = ["ServiceLifecycle", "UnixSignals"].map {
    .product(name: $0, package: "swift-service-lifecycle", condition: .when(traits: ["Tools"]))
}

/// Returns dependencies of the macros: the compiler's parser of Swift.
func swiftSyntax(_ products: String...) -> [Target.Dependency] {
    products.map { .product(name: $0, package: "swift-syntax", condition: .when(traits: ["Macros"])) }
}

let package = Package(
    name: "Diamond",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Diamond", targets: ["Diamond"]),
        .library(name: "DiamondModel", targets: ["DiamondModel"]),
        .library(name: "DiamondTable", targets: ["DiamondTable"]),
        .library(name: "DiamondPostgres", targets: ["DiamondPostgres"]),
        .library(name: "DiamondCurlCommand", targets: ["DiamondCurlCommand"]),
        .library(name: "DiamondTesting", targets: ["DiamondTesting"]),
        .library(name: "DiamondValkey", targets: ["DiamondValkey"]),
        .executable(name: "cachectl", targets: ["cachectl"]),
    ],
    traits: [
        .default(enabledTraits: ["Curl"]),
        .trait(
            name: "Curl",
            description: "CurlTransport on Linux, over the system's libcurl and zlib. Without it: URLSession."),
        .trait(
            name: "AsyncHTTPClient",
            description: "HTTPClientTransport, over async-http-client, for programs that use that already."
        ),
        .trait(name: "Compression", description: "Optional compression of stored text bodies, with the system's zlib."),
        .trait(
            name: "Postgres",
            description: "DiamondPostgres: one queue and one cache for many machines, on PostgreSQL, over libpq."),
        .trait(
            name: "Logging", description: "LogObserver, which writes an engine's events to a Logger of swift-log."),
        .trait(name: "Metrics", description: "MetricsObserver, which reports counts and times to swift-metrics."),
        .trait(name: "Tracing", description: "TracingObserver, which reports spans to swift-distributed-tracing."),
        .trait(
            name: "Macros", description: "@Modeled, which writes the properties of a model class, with swift-syntax."),
        .trait(
            name: "Valkey",
            description: "DiamondValkey: the cache of many machines, on Valkey or Redis, over swift-nio."),
        .trait(
            name: "Tools",
            description: "The commands of cachectl and the sample API, with an argument parser and a server."),
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
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
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
        .systemLibrary(
            name: "CDiamondPostgres",
            path: "Sources/CPostgres",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .yum(["libpq-devel"]), .brew(["libpq"])]
        ),
        .target(name: "DiamondSQLite", dependencies: ["CDiamondSQLite"]),
        .target(
            name: "DiamondSchema",
            dependencies: ["DiamondSQLite"],
            path: "Schema",
            resources: ((1...4).flatMap { ["cache-v\($0)", "replay-v\($0)"] } + [
                "cache-postgres-v1", "replay-postgres-v1", "replay-postgres-v2",
            ])
            .map { .embedInCode("\($0).sql") }
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
        .target(name: "DiamondTable", dependencies: ["DiamondModel"]),
        .target(
            name: "DiamondPostgres",
            dependencies: [
                "Diamond", "DiamondSchema", "DiamondSQLite",
                .target(name: "CDiamondPostgres", condition: .when(traits: ["Postgres"])),
            ]
        ),
        .target(
            name: "DiamondCurlCommand",
            dependencies: ["Diamond", .product(name: "HTTPTypes", package: "swift-http-types")]
        ),
        .target(
            name: "DiamondValkey",
            dependencies: ["Diamond", "DiamondSQLite"] + valkey
        ),
        // The operations on a store that only operators need.
        .target(
            name: "DiamondInspection",
            dependencies: [
                "Diamond", "DiamondSchema", "DiamondSQLite", .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(
            name: "DiamondTesting",
            dependencies: [
                "Diamond", "DiamondSQLite", "DiamondTable", .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .executableTarget(
            name: "cachectl",
            dependencies: [
                "Diamond",
                "DiamondCurlCommand",
                "DiamondInspection",
                "DiamondSQLite",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["Tools"])
                ),
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Tools"])),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ] + servers + proxy + inspector
        ),
        // The files of cachectl's page, as bytes.
        .target(name: "CDiamondInspector", path: "Sources/CInspector", exclude: ["Pages", "Vendor"]),

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
        // A terminal client for the sample API. Like an app, it sees only the public interface, and is isolated to the
        // main actor.
        .executableTarget(
            name: "SampleClient",
            dependencies: [
                "Diamond",
                "DiamondModel",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["Tools"])
                ),
            ],
            path: "Tests/SampleClient",
            packageAccess: false,
            swiftSettings: [.defaultIsolation(MainActor.self), .enableUpcomingFeature("InferIsolatedConformances")]
        ),
        // A process that uses a store together with others, until it is killed.
        .executableTarget(
            name: "StoreHammer",
            dependencies: ["CSpawn", "Diamond", "DiamondSQLite", "DiamondTestSupport", "DiamondTesting"],
            path: "Tests/StoreHammer"
        ),
        // A process that adds to a queue and sends its jobs together with others, until it is killed.
        .executableTarget(
            name: "QueueHammer",
            dependencies: [
                "CWallClock", "Diamond", "DiamondModel", "DiamondSQLite", "DiamondTestSupport",
                .target(name: "DiamondPostgres", condition: .when(traits: ["Postgres"])),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/QueueHammer"
        ),
        // Replaces getaddrinfo in the test process, for names whose lookup takes long.
        .target(name: "CSlowResolver", path: "Tests/SlowResolver"),
        // Sets the wall clock of a process ahead.
        .target(name: "CWallClock", path: "Tests/WallClock"),
        // A SQLite VFS whose calls fail when a test asks for it, and that can lose unsynced writes.
        .target(name: "CFaultDisk", dependencies: ["CDiamondSQLite"], path: "Tests/FaultDisk"),
        // Starts and forks processes. Foundation does not start them reliably on Linux.
        .target(name: "CSpawn", path: "Tests/Spawn"),
        .target(
            name: "DiamondTestSupport",
            dependencies: [
                "CFaultDisk",
                "CSlowResolver",
                "CSpawn",
                "Diamond",
                "DiamondModel",
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
                "SampleClient",
                "StoreHammer",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Crypto", package: "swift-crypto"),
            ] + asyncHTTPClient + observability + observabilityTests + lifecycleTests,
            path: "Tests/Diamond"
        ),
        .testTarget(
            name: "DiamondModelTests",
            dependencies: [
                "Diamond", "DiamondModel", "DiamondTable", "DiamondTestSupport", "DiamondTesting", "QueueHammer",
                "SampleAPI", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/DiamondModel"
        ),
        .testTarget(
            name: "DiamondTableTests",
            dependencies: [
                "Diamond", "DiamondModel", "DiamondSQLite", "DiamondTable", "DiamondTestSupport", "DiamondTesting",
            ],
            path: "Tests/DiamondTable"
        ),
        .testTarget(
            name: "DiamondPostgresTests",
            dependencies: [
                "Diamond", "DiamondPostgres", "DiamondSQLite", "DiamondTestSupport", "DiamondTesting", "QueueHammer",
                "SampleAPI", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/DiamondPostgres"
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
            name: "DiamondValkeyTests",
            dependencies: [
                "Diamond", "DiamondSQLite", "DiamondTestSupport", "DiamondTesting", "DiamondValkey",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ] + valkey,
            path: "Tests/DiamondValkey"
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
            ] + servers,
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
        // Only in CI's builds, because newer compilers may have more warnings.
        + (Context.environment["DIAMOND_STRICT"] == nil
            ? [] : [.treatAllWarnings(as: .error), .unsafeFlags(["-require-explicit-sendable"])])
}
