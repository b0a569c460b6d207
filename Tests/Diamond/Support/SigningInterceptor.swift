import DiamondSQLite
import DiamondTestSupport
import HTTPTypes

@testable import Diamond

/// An interceptor that adds a new credential to each request, when it may. No request names it.
struct SigningInterceptor: Interceptor {
    let mayGoOn = Gate()
    private let count = Guarded(0)

    func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
        await mayGoOn.wait()
        let number = count.withLock { count in
            count += 1
            return count
        }
        request.headers[.authorization] = "Bearer \(number)"
    }
}
