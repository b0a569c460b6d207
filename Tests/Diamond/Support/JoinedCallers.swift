import DiamondSQLite
import DiamondTestSupport

@testable import Diamond

/// The callers that have joined exchanges for the first time: each one is a miss of the cache.
final class JoinedCallers: Sendable {
    private let misses = Guarded(0)
    private let observations = Guarded<[ActivityObservation]>([])

    /// Counts the callers of an engine from now on.
    func watch(_ engine: Engine) {
        let observation = engine.activity.observe { [misses] event in
            if case .miss = event { misses.withLock { $0 += 1 } }
        }
        observations.withLock { $0.append(observation) }
    }

    var count: Int { misses.withLock { $0 } }

    func reach(_ count: Int) async { await untilTrue { self.count == count } }
}

extension Task<Response, any Error> {
    /// The code of the error of a request; `nil` for a response.
    var errorCode: ConnectionError.Code? {
        get async {
            guard case .failure(let error) = await result else { return nil }
            return (error as? ConnectionError)?.code
        }
    }
}
