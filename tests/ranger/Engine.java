import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Date;
import java.util.HashSet;
import java.util.Set;
import org.apache.ranger.authorization.hadoop.config.RangerPluginConfig;
import org.apache.ranger.plugin.policyengine.RangerAccessRequestImpl;
import org.apache.ranger.plugin.policyengine.RangerAccessResourceImpl;
import org.apache.ranger.plugin.policyengine.RangerAccessResult;
import org.apache.ranger.plugin.service.RangerBasePlugin;

/**
 * Answers questions by Apache Ranger's own policy engine, one line each, fields apart by tabs.
 *
 * <p>Arguments: the address of Ranger Admin, the name of the service, a folder for the engine's own copy.
 */
public final class Engine {
    private static final String TYPE = "hive";

    private final RangerBasePlugin plugin;

    private Engine(String address, String service, String folder) {
        RangerPluginConfig config = new RangerPluginConfig(TYPE, service, "headgate-tests", null, null, null);
        config.set("ranger.plugin.hive.policy.rest.url", address);
        config.set("ranger.plugin.hive.policy.cache.dir", folder);
        config.set("ranger.plugin.hive.policy.pollIntervalMs", "3600000");
        config.set("xasecure.audit.is.enabled", "false");
        plugin = new RangerBasePlugin(config);
        plugin.init();
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        // Whatever the engine's libraries print must not be taken for an answer.
        System.setOut(System.err);
        Engine engine = new Engine(arguments[0], arguments[1], arguments[2]);
        out.println("ready");
        out.flush();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(engine.answer(line.split("\t", -1)));
            out.flush();
        }
    }

    private String answer(String[] question) {
        if (question[0].equals("refresh")) {
            plugin.refreshPoliciesAndTags();
            return Long.toString(plugin.getPoliciesVersion());
        }
        RangerAccessRequestImpl request = request(question);
        RangerAccessResult result;
        switch (question[0]) {
            case "may":
                result = plugin.isAccessAllowed(request, null);
                return Boolean.toString(result != null && result.getIsAllowed());
            case "rows":
                result = plugin.evalRowFilterPolicies(request, null);
                return result != null && result.isRowFilterEnabled() ? result.getFilterExpr() : "";
            case "mask":
                result = plugin.evalDataMaskPolicies(request, null);
                if (result == null || !result.isMaskEnabled()) {
                    return "";
                }
                String value = result.getMaskedValue();
                return result.getMaskType() + " " + (value == null ? "" : value);
            default:
                return "what?";
        }
    }

    private RangerAccessRequestImpl request(String[] question) {
        Set<String> groups = new HashSet<>();
        if (!question[2].isEmpty()) {
            groups.addAll(Arrays.asList(question[2].split(",")));
        }
        RangerAccessResourceImpl resource = new RangerAccessResourceImpl();
        String[] keys = {"database", "table", "column"};
        for (int level = 0; level < keys.length; level++) {
            if (question.length > 4 + level && !question[4 + level].isEmpty()) {
                resource.setValue(keys[level], question[4 + level]);
            }
        }
        resource.setServiceDef(plugin.getServiceDef());
        Set<String> roles = plugin.getRolesFromUserAndGroups(question[1], groups);
        RangerAccessRequestImpl request =
                new RangerAccessRequestImpl(resource, question[3], question[1], groups, roles);
        request.setAccessTime(new Date());
        return request;
    }
}
