import Diamond
import DiamondTestSupport
import DiamondTesting

/// Requests for variants and parts, over an engine with the store of the hammer.
struct VariantLoad: Sendable {
    private let engine: Engine
    private let observation: ActivityObservation

    /// - Parameter report: called when the store drops something or fails.
    init(_ store: Store, report: @escaping @Sendable (String) -> Void) {
        var configuration = Engine.Configuration(store: store)
        configuration.transport = StubTransport { request throws(TransportError) in
            VariantSample.response(to: request, version: .random(in: 0..<3))
        }
        configuration.identityPreset = .http
        configuration.memoryCapacity = 1 << 20
        configuration.diskCapacity = 36 << 20
        configuration.retry = .never
        engine = Engine(configuration)
        observation = engine.activity.observe { event in
            switch event {
            case .cacheEntryDropped(let reason), .cacheSetAside(let reason), .cacheFailed(let reason): report(reason)
            default: break
            }
        }
    }

    /// Sends a request.
    ///
    /// - Returns: what is wrong with the response; `nil` if nothing is.
    func fault(of sample: VariantSample, _ range: ClosedRange<Int>?) async throws -> String? {
        let response = try await engine.send(sample.request(range))
        return sample.isSound(response) ? nil : "variant \(sample) came back with a body that no server sent"
    }
}
