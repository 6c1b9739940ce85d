import { RemovalPolicy, Validations } from "aws-cdk-lib";
import { AccessLogFormat } from "aws-cdk-lib/aws-apigateway";
import {
  HttpApi,
  HttpMethod,
  HttpNoneAuthorizer,
  HttpStage,
  LogGroupLogDestination,
  PayloadFormatVersion,
} from "aws-cdk-lib/aws-apigatewayv2";
import { HttpIamAuthorizer } from "aws-cdk-lib/aws-apigatewayv2-authorizers";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import type { Route } from "../routes.ts";

/** Requests a second, and how many may arrive at once: half of an account's default burst, so that its neighbours keep room. */
const throttle = { rateLimit: 2500, burstLimit: 2500 };

/** One JSON line a request: who called what, how it ended, how long the function took. */
const accessLogFormat = AccessLogFormat.custom(
  JSON.stringify({
    requestId: "$context.requestId",
    requestTime: "$context.requestTime",
    routeKey: "$context.routeKey",
    path: "$context.path",
    sourceIp: "$context.identity.sourceIp",
    userArn: "$context.identity.userArn",
    httpStatus: "$context.status",
    responseBytes: "$context.responseLength",
    integrationLatencyMs: "$context.integrationLatency",
    integrationError: "$context.integrationErrorMessage",
  }),
);

/** An HTTP API whose routes ask for a SigV4 signature unless a route says otherwise; throttled, with access logs. */
export class RestrictedHttpApi extends Construct {
  readonly url: string;
  private readonly api: HttpApi;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.api = new HttpApi(this, "HttpApi", {
      apiName: "cairn",
      createDefaultStage: false,
      defaultAuthorizer: new HttpIamAuthorizer(),
    });
    const accessLogs = new LogGroup(this, "AccessLogs", {
      retention: RetentionDays.ONE_MONTH,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const stage = new HttpStage(this, "DefaultStage", {
      httpApi: this.api,
      stageName: "$default",
      autoDeploy: true,
      throttle,
      accessLogSettings: { destination: new LogGroupLogDestination(accessLogs), format: accessLogFormat },
    });
    this.url = stage.url;
  }

  /** Adds `route`, answered by `handler` in payload format 2.0. */
  serve(route: Route, handler: IFunction): void {
    const integration = new HttpLambdaIntegration("Integration", handler, {
      payloadFormatVersion: PayloadFormatVersion.VERSION_2_0,
    });
    const open = route.authorization === "none";
    const added = this.api.addRoutes({
      path: route.path,
      methods: [HttpMethod[route.method]],
      integration,
      ...(open ? { authorizer: new HttpNoneAuthorizer() } : {}),
    });
    if (!open) return;
    for (const each of added) {
      Validations.of(each).acknowledge({
        id: "AwsSolutions-APIG4",
        reason:
          "Load balancers and monitors that hold no credentials ask this route; it tells nothing but the version.",
      });
    }
  }
}
