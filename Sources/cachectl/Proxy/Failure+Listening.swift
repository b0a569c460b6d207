#if Tools
import Foundation
import NIOCore

extension Failure {
    /// Returns the system's words for a failed call of SwiftNIO; the text of another error.
    static func text(of error: any Error) -> String {
        guard let error = error as? IOError else { return "\(error)" }
        return String(cString: strerror(error.errnoCode)).lowercased()
    }
}
#endif
