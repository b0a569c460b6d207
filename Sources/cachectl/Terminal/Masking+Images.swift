#if Tools
import Diamond
import Foundation
import HTTPTypes

extension Masking {
    /// Masks a body for people. An image stays as it is: nothing in it has a name.
    static func shown(_ body: Data, headers: HTTPFields) -> Data {
        ImageSize(body) == nil ? self.body(body, headers: headers) : body
    }
}
#endif
