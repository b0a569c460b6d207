#if os(Linux)
import CSlowResolver
import Foundation

/// A host name whose lookup lasts until the test lets it end.
package final class SlowName: Sendable {
    package let host = "\(UUID().uuidString.lowercased()).slow.test"

    package init() {}

    deinit { release() }

    /// Returns when the name is being looked up.
    package func lookUpHasBegun() async {
        let hasBegun = Gate()
        Thread.detachNewThread { [host] in
            slow_resolver_await(host)
            hasBegun.open()
        }
        await hasBegun.wait()
    }

    /// Lets the lookup end: the name does not exist.
    package func release() { slow_resolver_release(host) }
}
#endif
