import DiamondSQLite
import DiamondTestSupport
import HTTPTypes

@testable import Diamond

/// Adds a credential that nobody has named, another each time, when it may.
struct Signing: Interceptor {
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
