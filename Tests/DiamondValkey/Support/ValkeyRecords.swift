#if Valkey
import Diamond
import DiamondSQLite

@testable import DiamondValkey

extension ValkeyStorage {
    var isConnected: Bool { watch.withLock { $0.log.connectedAt != nil } }
}
#endif
