public import Diamond
public import Foundation

/// The contract of ``/Diamond/CacheStorage`` as checks, for the tests of a driver.
///
/// ```swift
/// let suite = CacheStorageSuite { try await DriverPlace() }
///
/// @Test(arguments: CacheStorageSuite.Check.all)
/// func `the driver keeps the contract`(_ check: CacheStorageSuite.Check) async {
///     #expect(await suite.failure(of: check) == nil)
/// }
/// ```
///
/// It needs no test framework: a failure is a text.
public struct CacheStorageSuite: Sendable {
    /// A store that is empty at first, and is used by several processes.
    public protocol Place: Sendable {
        /// Opens one more instance, as another process would.
        func open() async throws -> any CacheStorage
    }

    /// A part of the contract.
    public struct Check: ContractCheck {
        /// The rule, as a sentence.
        public let description: String
        let body: @Sendable (CacheStorageRun) async throws -> Void

        init(_ description: String, _ body: @escaping @Sendable (CacheStorageRun) async throws -> Void) {
            self.description = description
            self.body = body
        }

        /// All checks.
        public static let all = storing + confirming + selecting + listing + announcing + leasing
    }

    private let now: @Sendable () -> Date
    private let makePlace: @Sendable () async throws -> any Place

    /// Creates the suite of a driver.
    ///
    /// - Parameters:
    ///   - now: the clock by which the storage drops records (``/Diamond/CacheRecord/retention``).
    ///   - makePlace: makes the place of one check.
    public init(
        now: @escaping @Sendable () -> Date = { Date() }, _ makePlace: @escaping @Sendable () async throws -> any Place
    ) {
        self.now = now
        self.makePlace = makePlace
    }

    /// Runs one check in a place of its own.
    ///
    /// - Returns: the failure, in one line; `nil` if the driver keeps this part of the contract.
    public func failure(of check: Check) async -> String? {
        await check.failure {
            let place = try await makePlace()
            return CacheStorageRun(
                place: place, storage: try await place.open(), other: try await place.open(), now: WallTime(now()))
        }
    }

    /// Runs all checks, one after another.
    ///
    /// - Returns: the failures; empty if the driver keeps the contract.
    public func failures() async -> [String] {
        var failures: [String] = []
        for check in Check.all {
            if let failure = await failure(of: check) { failures.append(failure) }
        }
        return failures
    }
}
