package import Diamond
package import DiamondTesting
package import Foundation
import HTTPTypes

extension TemporaryStore {
    /// Every byte of every file of the store, write-ahead logs included, but for the space that is set aside.
    package func bytes() throws -> Data {
        var bytes = Data()
        for file in try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        where file.lastPathComponent != "cache.reserve" {
            bytes += try Data(contentsOf: file)
        }
        return bytes
    }

    /// An engine over this store, with a stub and a clock that stands still.
    package func engine(
        _ transport: any Transport,
        clock: ManualClock = ManualClock(),
        _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        var configuration = Engine.Configuration(store: store)
        configuration.transport = transport
        configuration.now = { clock.now }
        // Whatever language the machine speaks.
        configuration.headers = [.userAgent: "Diamond"]
        // One answer for one request; what is sent again is tested by itself.
        configuration.retry = .never
        change(&configuration)
        return Engine(configuration)
    }
}
