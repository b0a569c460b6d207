#if Tools
import Diamond

extension String {
    /// The string as a shell argument, in quotes if a shell would change it.
    var shellArgument: String {
        let isPlain = allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._/".contains($0)) }
        return isPlain && !isEmpty ? self : shellWord
    }
}
#endif
