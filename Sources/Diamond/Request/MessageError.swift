package import Foundation

/// An error whose text is its message.
package protocol MessageError: LocalizedError, CustomStringConvertible {
    var message: String { get }
}

extension MessageError {
    public var description: String { message }

    public var errorDescription: String? { message }
}
