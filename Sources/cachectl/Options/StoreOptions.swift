#if Tools
import ArgumentParser
import Diamond
import DiamondInspection
import Foundation

/// The cache of a command, and the keys that seal it.
typealias StoreOptions = PlaceOptions<CacheServer>

extension StoreOptions {
    var location: Store { place.location }

    /// Returns the configuration for keys and for sending.
    func configuration() throws -> Engine.Configuration {
        let server = try chosenPlace().server
        var configuration = Engine.Configuration(store: location, cache: try server?.cachePlace() ?? .store)
        configuration.seal = try sealing.seal()
        configuration.credentials = EnvironmentSecrets()
        return configuration
    }

    /// Opens the cache of a server, or that of an existing store without a limit of its own. Throws if there is none:
    /// it creates no cache. Its lookups change nothing.
    func openCache() throws -> Cache {
        guard url == nil || !place.isNamed else {
            throw ValidationError("--cache and --store or --app name two caches: leave one out")
        }
        let seal = try sealing.seal()
        let cache =
            switch try chosenPlace() {
            case .store(let store): try Cache(store, seal: seal, diskCapacity: .max, create: false)
            case .server(let url): try url.cache(seal)
            }
        cache.isInspecting = true
        return cache
    }

    /// Opens the cache of a store for a command that has no use for a server.
    ///
    /// - Parameter reason: Why, as a part of a message.
    func openFile(because reason: String) throws -> Cache {
        guard try chosenPlace().server == nil else {
            throw Failure.report(Failure.usage, "\(reason): name a store with --store")
        }
        return try openCache()
    }

    /// Returns the cache of a store for a command that sends; `nil` if there is none, or if it is damaged, because
    /// engines then replace it. Of a server's cache, nothing has to be known.
    func findCache(seal: (any CacheSeal)?) throws -> Cache? {
        guard let store = try chosenPlace().store else { return nil }
        do throws(CacheError) {
            return try Cache(store, seal: seal, create: false)
        } catch  where [.noStore, .corrupt].contains(error.code) {
            return nil
        }
    }

    /// Uses the capacity of the store, or no store if it is sealed with another key, or if its seals cannot be read:
    /// nothing may be written there unencrypted.
    ///
    /// - Returns: the reason why requests are sent without the store; otherwise `nil`.
    func prepareToSend(_ configuration: inout Engine.Configuration) throws -> String? {
        let problem = try capacityProblem(&configuration)
        if problem != nil { configuration.store = nil }
        return problem
    }

    private func capacityProblem(_ configuration: inout Engine.Configuration) throws -> String? {
        do {
            guard let cache = try findCache(seal: configuration.seal) else { return nil }
            configuration.useCapacity(of: cache)
            return try sealing.problem(of: cache)
        } catch let error as CacheError {
            return error.message
        }
    }

    /// Uses the capacity of the store, if there is one. Throws exit code 5 if no given key opens it.
    func useCapacity(in configuration: inout Engine.Configuration) throws {
        guard let cache = try findCache(seal: configuration.seal) else { return }
        try refuseLocked(cache)
        configuration.useCapacity(of: cache)
    }

    /// Throws exit code 5 if the store is sealed and no given key opens it.
    func refuseLocked(_ cache: Cache) throws {
        if let problem = try sealing.problem(of: cache) { throw Failure.report(Failure.sealed, problem) }
    }

    /// Throws exit code 5 if the store or some of its entries are sealed with a key that was not given.
    func refuseLockedEntries(in cache: Cache) throws {
        if let problem = try sealing.problemOfEntries(in: cache) { throw Failure.report(Failure.sealed, problem) }
    }
}

extension Engine {
    /// Creates an engine, and waits until the server of its cache answers, if it has one: 2 seconds at most. A lookup
    /// waits for 50 milliseconds only, so that the first one could be a miss.
    convenience init(connecting configuration: Configuration) {
        self.init(configuration)
        guard let cache, cache.server != nil, let key = RequestKey(String(repeating: "0", count: 64)) else { return }
        _ = try? cache.canonicalForm(of: key)
    }

    /// Runs a body, and closes the engine at its end, also if it throws.
    func closing<Value>(after body: () async throws -> Value) async throws -> Value {
        let value: Value
        do { value = try await body() } catch {
            await close()
            throw error
        }
        await close()
        return value
    }
}

extension Engine.Configuration {
    /// Uses the disk capacity of the programs that fill a store.
    ///
    /// With the default capacity, the engine would evict their entries and record that capacity in the store.
    mutating func useCapacity(of cache: Cache) { diskCapacity = cache.effectiveCapacity ?? diskCapacity }
}

extension Cache {
    /// The disk capacity that programs have recorded in the store; `nil` if the default applies.
    ///
    /// If none is recorded and the store is larger than the default capacity, it is twice the used bytes. Otherwise the
    /// next entry would evict at least a tenth of the store.
    var effectiveCapacity: Int64? {
        if let recorded = try? recordedCapacity() { return recorded }
        guard let usage = try? usage(of: Self.defaultDiskCapacity), usage.used > usage.bound else { return nil }
        return usage.used * 2
    }
}

/// Reads secrets from the environment: `github-token` from `GITHUB_TOKEN`.
struct EnvironmentSecrets: CredentialProvider {
    private let environment = ProcessInfo.processInfo.environment

    /// Returns the secret in a variable. An empty variable counts as unset, because scripts pass unset secrets that
    /// way.
    func secret(_ name: String, for identity: String?) async throws -> String? {
        environment[Self.variable(for: name)].flatMap { $0.isEmpty ? nil : $0 }
    }

    static func variable(for name: String) -> String {
        String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }
}
#endif
